"""What users give as options, checked at once."""

from __future__ import annotations

import operator
from collections.abc import Iterable


def int_at_least(name: str, value: int, least: int) -> int:
    """Return an integer, one of Python's own, as JSON has it; refuse what is none, or a smaller one."""
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
    """Return names of columns; one that stands alone would be taken for a list of letters."""
    if isinstance(columns, str):
        raise TypeError(f"columns are a list of names: [{columns!r}]")
    return tuple(columns)


def any_seed(seed: int | None) -> int | None:
    """Return the seed of a function's random numbers, which may be any integer."""
    return None if seed is None else operator.index(seed)


def seed_of(seed: int) -> int:
    """Return the seed of a shuffle; refuse what is none."""
    number = int_at_least("seed", seed, 0)
    if number >= 1 << 64:
        raise ValueError(f"seed is less than 2**64, not {seed}")
    return number
