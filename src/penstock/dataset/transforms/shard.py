"""shard(): the share of one rank."""

from __future__ import annotations

import operator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, get_args

import numpy as np

from penstock.arguments import int_at_least
from penstock.dataset.block import Cursor, Flow, OpenFlow, is_start, take_from_block, with_cursors
from penstock.dataset.order import (
    Epoch,
    Files,
    Ints,
    Order,
    Origin,
    Remainder,
    RowKeys,
    Share,
    WrappedOrder,
    call_text,
    finite_length,
)
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage
from penstock.errors import StateError


def shard(pipeline: Pipeline, rank: int, world: int, remainder: Remainder) -> Pipeline:
    """Return the share of one rank."""
    world, rank = int_at_least("world", world, 1), operator.index(rank)
    if not 0 <= rank < world:
        swapped = " (tf.data takes them in the other order)" if rank >= world else ""
        raise ValueError(f"shard(rank, world) takes a rank from 0 to {world - 1}, not {rank}{swapped}")
    if remainder not in get_args(Remainder):
        raise ValueError(f"remainder is 'keep', 'drop' or 'repeat', not {remainder!r}")

    reads = pipeline.reads
    in_rows = reads is not None and reads.batches is None

    def share(order: Order) -> Order:
        if isinstance(order, ShardOrder):
            return order.divided(rank, world, remainder)
        runs = Runs(reads.source.shards) if reads is not None and in_rows and order.in_files_order else None
        return ShardOrder(order, rank, world, remainder, runs)

    fallback = ShardStage(rank, world) if remainder == "keep" else None
    return pipeline.reorder(share, "an even shard()", fallback=fallback)


@dataclass(frozen=True)
class Runs:
    """How many successive rows a rank takes at a time, so that it reads its own part of the files only.

    States depend on it: for the same files and the same pipeline, the number never changes.
    """

    files: Files
    batch: int | None = None
    """The size of the batches that the rows are grouped into."""

    @cached_property
    def rows(self) -> int:
        """About 1 MiB as stored; a batch where rows are read by their bytes, otherwise enough batches for 1 MiB."""
        if self.batch is None:
            return self.files.rows_per_run
        return self.batch if self.files.has_byte_ranges else self.batch * -(-self.files.rows_per_run // self.batch)


class Stop(NamedTuple):
    """The round of dealing in which all ranks stopped, each after ``seen`` positions of its part of it."""

    first: int
    """Where the round starts; everything before it was seen."""
    parts: int = 0
    size: int = 0
    longer: int = 0
    """How many of the parts, the first ones, have one position more."""
    seen: int = 0

    @property
    def stop(self) -> int:
        """Where the round stops."""
        return self.first + self.parts * self.size + self.longer

    @property
    def _left_in_parts(self) -> tuple[int, int]:
        return max(0, self.size + 1 - self.seen), max(0, self.size - self.seen)

    @property
    def left(self) -> int:
        """How many positions of the round were not seen."""
        of_longer, of_others = self._left_in_parts
        return self.longer * of_longer + (self.parts - self.longer) * of_others

    def positions(self, left: Ints) -> Ints:
        """Map positions among those that are left to positions before the stop."""
        of_longer, of_others = self._left_in_parts
        border = self.longer * of_longer
        part = np.where(left < border, left // max(1, of_longer), (left - border) // max(1, of_others) + self.longer)
        within = np.where(left < border, left % max(1, of_longer), (left - border) % max(1, of_others))
        in_round = self.first + part * self.size + np.minimum(part, self.longer) + self.seen + within
        return np.where(left < self.left, in_round, left - self.left + self.stop)


class ShardOrder(WrappedOrder):
    """The share of one rank. All ranks together go through the order.

    With ``runs``, a rank takes one run in each round, and the last round is divided evenly; otherwise, every
    ``world``-th position.
    """

    def __init__(
        self,
        inner: Order,
        rank: int,
        world: int,
        remainder: Remainder,
        runs: Runs | None = None,
        *,
        group: int | None = None,
    ) -> None:
        super().__init__(inner)
        self.rank, self.world, self.remainder = rank, world, remainder
        self._runs = runs
        self._group = group or world
        """Unless the remainder is kept, all ranks together have a multiple of this."""

    def divided(self, rank: int, world: int, remainder: Remainder) -> ShardOrder:
        """Return the share of one rank among which this share is divided, such as the workers of a rank."""
        if self._runs is not None and remainder == "keep":
            return ShardOrder(self, rank, world, remainder, self._runs)
        rank, world = self.rank + self.world * rank, self.world * world
        if remainder == "keep":
            return ShardOrder(self.inner, rank, world, self.remainder, group=self._group)
        root = self.inner if self._outer is None else self._outer.inner
        return ShardOrder(root, rank, world, remainder, self._runs)

    def deal_batches(self, size: int) -> ShardOrder:
        """Return the share whose runs are batches of this size."""
        if self._runs is None:
            return self
        inner = self.inner if self._outer is None else self._outer.deal_batches(size)
        runs = replace(self._runs, batch=size)
        return ShardOrder(inner, self.rank, self.world, self.remainder, runs, group=self._group)

    @property
    def _outer(self) -> ShardOrder | None:
        """The share that this share is a part of."""
        return self.inner if isinstance(self.inner, ShardOrder) else None

    def length(self, which: Epoch) -> int | None:
        left = self._left(which)
        return None if left is None else len(range(self.rank, left, self.world))

    def _left(self, which: Epoch) -> int | None:
        """Return how many positions all ranks share, after the stops."""
        total = self.inner.length(self._inner_epoch(which))
        if total is None:
            return None
        left = total
        for stop in self._stops(which):
            left = stop.left + max(0, left - stop.stop)
        if self.remainder == "drop":
            left -= left % self._group
        elif self.remainder == "repeat" and total:
            left += -left % self._group
        return left

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        inner = self._deal(positions, which)
        for stop in reversed(self._stops(which)):
            inner = stop.positions(inner)
        own = self._inner_epoch(which)
        if self.remainder == "repeat":
            inner = inner % finite_length(self.inner, own, 'shard() with remainder="repeat"')
        return self.inner.at(inner, own)

    def _deal(self, positions: Ints, which: Epoch) -> Ints:
        """Return which of the positions that all ranks share this rank has at its own positions."""
        run = self._run_length(which)
        if run == 1:
            return positions * self.world + self.rank
        number, within = np.divmod(positions, run)
        dealt: Ints = (number * self.world + self.rank) * run + within
        left = self._left(which)
        if left is not None:
            first, size, longer = self._last_round(left, run)
            start = first + self.rank * size + min(self.rank, longer)
            in_last = positions >= first // self.world
            dealt = np.where(in_last, start + positions - first // self.world, dealt)
        return dealt

    def _last_round(self, left: int, run: int) -> tuple[int, int, int]:
        """Return where the last round starts, how many positions a rank has of it, and how many ranks one more."""
        first = left - left % (self.world * run)
        return first, *divmod(left - first, self.world)

    def _run_length(self, which: Epoch) -> int:
        return 1 if self._runs is None or which.strided else self._runs.rows

    def _stops(self, which: Epoch) -> list[Stop]:
        return [] if self._outer is not None else _stops_of(which.origin)

    def _inner_epoch(self, which: Epoch) -> Epoch:
        return which if self._outer is not None else which._replace(origin=0)

    @property
    def in_files_order(self) -> bool:
        return self._runs is not None

    @property
    def share(self) -> Share:
        outer = None if self._outer is None else self._outer.share
        if outer is None:
            return Share(self.rank, self.world, self.remainder)
        worlds = outer.world if isinstance(outer.world, list) else [outer.world]
        return Share(self.rank, [*worlds, self.world], self.remainder)

    @property
    def is_sharded(self) -> bool:
        return True

    def common_place(self, position: int, which: Epoch) -> tuple[int, Origin]:
        ranks, root = self.world, self
        while root._outer is not None:
            root = root._outer
            ranks *= root.world
        run, left = self._run_length(which), root._left(which)
        number, seen = divmod(position, run)
        stop = Stop(number * ranks * run, ranks, run, 0, seen)
        if left is not None and run > 1 and stop.stop > left:
            if root is self:
                first, size, longer = self._last_round(left, run)
                stop = Stop(first, ranks, size, longer, min(position - first // ranks, size + 1))
            elif seen or stop.first > left:
                raise StateError("shares were divided once more, among workers, and are in the last of their rounds")
        return which.epoch, _add_stop(root._stops(which), stop)

    def has_even_shares(self, which: Epoch) -> bool:
        if self._outer is not None and not self._outer.has_even_shares(which):
            return False
        return self.remainder != "keep" or (self.inner.length(which) or 0) % self.world == 0

    @property
    def calls(self) -> list[str]:
        remainder = None if self.remainder == "keep" else self.remainder
        return [*self.inner.calls, call_text("shard", self.rank, self.world, remainder=remainder)]

    def describe(self) -> list[Any]:
        return self.inner.describe() if self._outer is not None else [*self.inner.describe(), ["shard", self.remainder]]


def _stops_of(origin: Any) -> list[Stop]:
    if isinstance(origin, int):
        return [Stop(origin)] if origin else []
    try:
        return [Stop(*map(operator.index, stop)) for stop in origin]
    except TypeError:
        raise StateError("not the state of an iterator: where its ranks stopped is missing") from None


def _add_stop(stops: list[Stop], latest: Stop) -> Origin:
    """Add the latest stop; earlier rounds that lie wholly before it are seen by now."""
    while stops and latest.first >= stops[-1].left:
        latest = latest._replace(first=latest.first - stops[-1].left + stops[-1].stop)
        stops = stops[:-1]
    if not latest.seen:
        latest = Stop(latest.first)
        if not stops:
            return latest.first
    return [list(stop) for stop in (*stops, latest)]


@dataclass(frozen=True)
class ShardStage(Stage):
    """The share of one rank: every ``world``-th element from number ``rank`` on. All ranks read all elements."""

    keeps_rows = True
    ignores_columns = True
    is_sharded = True

    rank: int
    world: int

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.world:
            raise ValueError(f"rank must be from 0 to {self.world - 1}, not {self.rank}")

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        # Elements of all ranks before the next one of this rank.
        up, before = (cursor, self.rank) if is_start(cursor) else (cursor["up"], cursor["before"])
        with closing(upstream(up)) as blocks:
            for block in blocks:
                mine = slice(before, None, self.world)
                start = {"up": block.start, "before": before}
                before = (before - len(block)) % self.world
                if mine.start < len(block):
                    yield with_cursors(take_from_block(block, mine), start, {"up": block.stop, "before": before})

    def length(self, upstream: int | None) -> int | None:
        return None if upstream is None else len(range(self.rank, upstream, self.world))

    @property
    def calls(self) -> list[str]:
        return [call_text("shard", self.rank, self.world)]

    def describe(self) -> list[Any]:
        return ["stride", self.rank, self.world]
