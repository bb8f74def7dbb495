"""What users give as options, checked at once."""

from __future__ import annotations

import operator


def int_at_least(name: str, value: int, least: int) -> int:
    """Answer an integer, one of Python's own, as JSON has it; refuse what is none, or a smaller one."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise ValueError(f"{name} is an integer of {least} or more, not {value!r}")
    return number
