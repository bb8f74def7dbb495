"""Checks of arguments that users pass."""

from __future__ import annotations

import operator
from collections.abc import Iterable


def int_at_least(name: str, value: int, least: int) -> int:
    """Return a value as a Python int; raise if it is not an integer, or smaller than ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise ValueError(f"{name} is an integer of {least} or more, not {value!r}")
    return number


def one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless a value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def names_in(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the names of columns; raise for a single string, which would be a list of letters."""
    if isinstance(columns, str):
        raise TypeError(f"columns are a list of names: [{columns!r}]")
    return tuple(columns)


def any_seed(seed: int | None) -> int | None:
    """Return the seed of a function's random numbers: any integer, or None."""
    return None if seed is None else operator.index(seed)


def seed_of(seed: int) -> int:
    """Return the seed of a shuffle; raise unless it is an integer from 0 to 2**64 - 1."""
    number = int_at_least("seed", seed, 0)
    if number >= 1 << 64:
        raise ValueError(f"seed is less than 2**64, not {seed}")
    return number
