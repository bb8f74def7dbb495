"""Cursors that all flows share: the start of an epoch. Every stage hands such a start on to the flow before it."""

from __future__ import annotations

from penstock.dataset.block import Cursor


def start_of(epoch: int) -> Cursor:
    """Answer where every flow stands before its first element in an epoch."""
    return {"epoch": epoch}


def is_start(cursor: Cursor) -> bool:
    """Tell whether a cursor is the start of an epoch, not a place within it."""
    return cursor is None or cursor.keys() == {"epoch"}


def epoch_of(start: Cursor) -> int:
    """Answer the epoch of a start."""
    return 0 if start is None else int(start["epoch"])
