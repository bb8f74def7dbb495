"""concat(): one dataset after another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.dataset.block import Cursor, Flow, OpenFlow, child_keys, epoch_of, is_start, start_of, with_cursors
from penstock.dataset.order import AllRows, Epoch, Files, Ints, Order, RowKeys, Run, finite_length, join_text
from penstock.dataset.pipeline import JoinStart, Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.source.row_source import RowSource
from penstock.dataset.transforms.take_skip import SliceOrder
from penstock.discovery.tfds_directory import RowsOfFile


class ConcatOrder(Order):
    """One order after another; the rows of the second are numbered after those of the first."""

    def __init__(self, first: Order, second: Order, files_of_first: Files) -> None:
        self._first, self._second, self._files = first, second, files_of_first

    def length(self, which: Epoch) -> int | None:
        second = self._second.length(which)
        return None if second is None else finite_length(self._first, which, "concat") + second

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        border = finite_length(self._first, which, "concat")
        rows, epochs = np.empty_like(positions), np.empty_like(positions)
        mine = positions < border
        rows[mine], epochs[mine] = self._first.at(positions[mine], which)
        rows[~mine], epochs[~mine] = self._second.at(positions[~mine] - border, which)
        rows[~mine] += self._files.rows
        return RowKeys(rows, epochs)

    @property
    def run(self) -> Run | None:
        return Run() if self._first.whole and self._second.whole else None

    @property
    def seeks(self) -> bool:
        return self._first.seeks or self._second.seeks

    @property
    def reach(self) -> int:
        return max(self._first.reach, self._second.reach)

    @property
    def is_sharded(self) -> bool:
        return self._first.is_sharded or self._second.is_sharded

    @property
    def calls(self) -> list[str]:
        return [join_text("concat", [self._first.calls, self._second.calls])]

    def describe(self) -> list[Any]:
        return [["concat", self._first.describe(), self._second.describe()]]


@dataclass(frozen=True)
class ConcatStart(JoinStart):
    """One pipeline after another."""

    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        return ConcatFlow(self._openers(meter)).open(cursor)

    def length(self, which: Epoch) -> int | None:
        total = 0
        for length in self._lengths(which):
            if length is None:
                return None
            total += length
        return total

    def call(self, children: list[list[str]]) -> str:
        return join_text("concat", children)

    def describe(self) -> list[Any]:
        return [["concat", *(child.describe() for child in self.children)]]


def concat(first: Pipeline, second: Pipeline) -> Pipeline:
    """Append a pipeline. Where both read rows in the same way, the result reads all files and has an index."""
    one, other = first.start, second.start
    if (
        isinstance(one, ReadRows)
        and isinstance(other, ReadRows)
        and not (first.stages or second.stages or one.filters or other.filters)
        and one.source.can_concat(other.source)
    ):
        order = ConcatOrder(one.rows, other.rows, one.source.shards)
        return Pipeline(ReadRows(one.source + other.source, order))
    return Pipeline(ConcatStart((first, second)))


def read_rows_of_files(source: RowSource, rows: Sequence[RowsOfFile]) -> Pipeline:
    """Read some rows of each file, in order; ``rows`` are those of each file of the source."""
    first = [n for n, (start, _) in enumerate(rows) if not n or start or rows[n - 1][1] is not None] or [0]
    parts = []
    for begin, end in pairwise([*first, len(rows)]):
        of_run = source if len(first) == 1 else source.with_files(slice(begin, end))
        order: Order = AllRows(of_run.shards)
        start, stop = (rows[begin][0], rows[end - 1][1]) if rows else (0, None)
        if start or stop is not None:
            order = SliceOrder(order, start, None if stop is None else sum(of_run.shards.counts[:-1]) + stop)
        parts.append(Pipeline(ReadRows(of_run, order)))
    return reduce(concat, parts)


class ConcatFlow:
    """One flow after another."""

    def __init__(self, children: Sequence[OpenFlow]) -> None:
        self._children = children

    def open(self, cursor: Cursor) -> Flow:
        """Open the flow at a cursor."""
        if is_start(cursor):
            cursor = {"epoch": epoch_of(cursor), "child": 0, "up": start_of(epoch_of(cursor))}
        epoch, up = cursor["epoch"], cursor["up"]
        for number in range(cursor["child"], len(self._children)):
            with closing(self._children[number](up)) as blocks:
                for block in blocks:
                    position = {"epoch": epoch, "child": number}
                    given = replace(block, keys=child_keys(block.keys, number))
                    yield with_cursors(given, position | {"up": block.start}, position | {"up": block.stop})
            up = start_of(epoch)
