"""interleave(): one row of each file in turn."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from penstock.arguments import int_at_least
from penstock.dataset.order import Epoch, Files, Ints, Order, RowKeys, call_text
from penstock.dataset.pipeline import Pipeline


def interleave(pipeline: Pipeline, cycle: int | None) -> Pipeline:
    """Return a pipeline that reads a row of each file in turn, ``cycle`` files at a time."""
    if cycle is not None:
        cycle = int_at_least("cycle", cycle, 1)
    reads = pipeline.require_reads("interleave()")
    if reads.batches is not None or not reads.rows.whole:
        raise ValueError("interleave() comes first, before other orders and before batch()")
    return pipeline.reorder(lambda order: InterleaveOrder(reads.source.shards, cycle), "interleave()")


class InterleaveOrder(Order):
    """One row of each file in turn, from ``cycle`` files at a time (None: all); files that have ended are skipped."""

    def __init__(self, files: Files, cycle: int | None) -> None:
        self._files, self._cycle = files, cycle
        self._group = lru_cache(maxsize=8)(self._plan_group)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._files, self._cycle)

    @cached_property
    def _starts(self) -> Ints:
        """The position where each group of files starts, and where the last one stops."""
        counts, cycle = self._files.counts, self._turns
        totals = [sum(counts[start : start + cycle]) for start in range(0, len(counts), cycle)]
        return np.concatenate([[0], np.cumsum(totals, dtype=np.int64)]).astype(np.int64)

    @property
    def _turns(self) -> int:
        return self._cycle or max(1, len(self._files.counts))

    def length(self, which: Epoch) -> int:
        return int(self._starts[-1])

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        groups = np.searchsorted(self._starts, positions, side="right") - 1
        rows = np.empty_like(positions)
        for group in np.unique(groups):
            mine = groups == group
            rows[mine] = self._group(int(group)).rows(positions[mine] - self._starts[group])
        return RowKeys(rows, np.full(len(positions), which.epoch, np.int64))

    def _plan_group(self, group: int) -> _Group:
        begin = group * self._turns
        return _Group(np.array(self._files.counts[begin : begin + self._turns], np.int64), int(self._starts[group]))

    @property
    def calls(self) -> list[str]:
        return [call_text("interleave", cycle=self._cycle)]

    def describe(self) -> list[Any]:
        return [["interleave", self._cycle]]


class _Group:
    """Files that take turns. Between the ends of two files, every round has the same files."""

    def __init__(self, counts: Ints, first_row: int) -> None:
        self._counts = counts
        self._firsts = np.cumsum(counts) - counts + first_row
        self._rounds = np.unique(np.concatenate([[0], counts]))
        """The rounds in which another file has ended."""
        alive = np.array([np.count_nonzero(counts > begin) for begin in self._rounds], np.int64)
        lengths = alive[:-1] * np.diff(self._rounds)
        self._starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def rows(self, positions: Ints) -> Ints:
        stretch = np.searchsorted(self._starts, positions, side="right") - 1
        rows = np.empty_like(positions)
        for number in np.unique(stretch):
            mine = stretch == number
            alive = np.flatnonzero(self._counts > self._rounds[number])
            turn, which = np.divmod(positions[mine] - self._starts[number], len(alive))
            rows[mine] = self._firsts[alive[which]] + self._rounds[number] + turn
        return rows
