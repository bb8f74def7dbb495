"""Epoch after epoch, streamed: rows need not be counted before, for where an epoch ends is known when it is through."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import count

from penstock.dataset.block import Block, Cursor, Flow
from penstock.dataset.stages.elements import join, join_keys, placed
from penstock.dataset.stages.supply import Supply


def stream_epochs(
    open_epoch: Callable[[int, int], Flow], times: int | None, cursor: Cursor, later: int, within: int, begin: int
) -> Flow:
    """Stream epochs one behind the other, from a place in a later one on.

    Positions are counted through all of them; ``begin`` is where the first of these begins.
    """
    for number in count(later) if times is None else range(later, times):
        length = 0
        with closing(open_epoch(cursor["epoch"] + number, within)) as blocks:
            for block in blocks:
                start, length = block.start["position"], block.stop["position"]
                yield placed(block, cursor | {"position": begin + start}, cursor | {"position": begin + length})
        if not length and not within:
            return  # nothing, again and again, is nothing
        begin += max(length, within)
        within = 0


def stream_batches_of(rows: Flow, size: int, drop_last: bool, cursor: Cursor) -> Flow:
    """Make batches of rows, over the ends of epochs; positions count batches."""
    with closing(Supply(lambda _: rows, None)) as supply:
        for batch in count(cursor["position"]):
            parts = supply.take(size)
            if sum(map(len, parts)) < (size if drop_last else 1):
                return
            elements, keys = join([part.elements for part in parts]), join_keys([part.keys for part in parts])
            yield Block(elements, keys, cursor | {"position": batch}, cursor | {"position": batch + 1})
