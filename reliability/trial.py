"""A trial: work that is done in a process of its own, and what happens to it there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

# The actions of intercept.c.
NOTHING, FAIL, FALL_SHORT, KILL_BEFORE, KILL_HALFWAY, KILL_AFTER = range(6)


@dataclass(frozen=True)
class Trial:
    """Work to be done in a folder, and what happens to it."""

    work: str
    """A function, as ``module:name``; it is called with the folder, ``report`` and the seed."""
    folder: str
    seed: int
    log: str = os.devnull
    at: int = -1
    """The call that something happens to, counted from 0."""
    action: int = NOTHING
    error: int = 0
    kill_after: int | None = None
    """Kill the child after it has reported this many times."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit status (negative: a signal; None: it hung), and what it messages."""

    status: int | None
    messages: list[Any]
