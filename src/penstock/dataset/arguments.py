"""What users give to the methods of a data set, checked at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.arguments import int_at_least


def position_in(key: SupportsIndex, length: int) -> int:
    """Answer a position, which may be counted from the end."""
    index = operator.index(key)
    if not -length <= index < length:
        raise IndexError(f"element {index} of a data set of {length}")
    return index % length


def positions_in(key: Sequence[int] | NDArray[Any], length: int) -> NDArray[np.int64]:
    """Answer positions by the rules of NumPy: from the end, masks, errors, without an array of the whole length."""
    if type(key) is list and (found := _core.positions_in(key, length)) is not None:
        return found
    given = np.asarray(key, None if len(key) else np.int64)
    if given.dtype == bool:
        if given.shape != (length,):
            raise IndexError(f"a mask for {length} elements has that length, not {given.shape}")
        return np.flatnonzero(given)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise IndexError("elements are chosen by a list of integers or booleans, columns by select_columns(names)")
    if given.size and given.min() >= 0 and given.max() < length:
        return given.astype(np.int64)
    positions = np.where(given < 0, given.astype(np.int64) + length, given).astype(np.int64)
    wrong = (positions < 0) | (positions >= length)
    if wrong.any():
        raise IndexError(f"element {given[wrong][0]} of a data set of {length}")
    return positions


def bounds_of(key: slice, length: Callable[[], int]) -> tuple[int, int | None, int]:
    """Answer where a slice starts and stops, and its step; the length is asked for only where it matters."""
    start, stop, step = (None if bound is None else operator.index(bound) for bound in (key.start, key.stop, key.step))
    if (start or 0) >= 0 and (stop or 0) >= 0 and (step is None or step > 0):
        return start or 0, stop, step or 1
    return key.indices(length())


def names_in(columns: Iterable[str]) -> tuple[str, ...]:
    """Answer names of columns; one that stands alone would be taken for a list of letters."""
    if isinstance(columns, str):
        raise TypeError(f"columns are a list of names: [{columns!r}]")
    return tuple(columns)


def any_seed(seed: int | None) -> int | None:
    """Answer the seed of a function's random numbers, which may be any integer."""
    return None if seed is None else operator.index(seed)


def seed_of(seed: int) -> int:
    """Answer the seed of a shuffle; refuse what is none."""
    number = int_at_least("seed", seed, 0)
    if number >= 1 << 64:
        raise ValueError(f"seed is less than 2**64, not {seed}")
    return number
