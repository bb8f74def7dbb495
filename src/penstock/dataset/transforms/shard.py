"""shard(): the share of one rank."""

from __future__ import annotations

import operator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, get_args

from penstock.arguments import int_at_least
from penstock.dataset.block import Cursor, Flow, OpenFlow, is_start, take_from_block, with_cursors
from penstock.dataset.order import Epoch, Ints, Order, Remainder, RowKeys, Share, WrappedOrder, call_text, finite_length
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage


def shard(pipeline: Pipeline, rank: int, world: int, remainder: Remainder) -> Pipeline:
    """Return the share of one rank."""
    world, rank = int_at_least("world", world, 1), operator.index(rank)
    if not 0 <= rank < world:
        swapped = " (tf.data takes them in the other order)" if rank >= world else ""
        raise ValueError(f"shard(rank, world) takes a rank from 0 to {world - 1}, not {rank}{swapped}")
    if remainder not in get_args(Remainder):
        raise ValueError(f"remainder is 'keep', 'drop' or 'repeat', not {remainder!r}")

    def share(order: Order) -> Order:
        if isinstance(order, ShardOrder):
            return order.divided(rank, world, remainder)
        return ShardOrder(order, rank, world, remainder)

    fallback = ShardStage(rank, world) if remainder == "keep" else None
    return pipeline.reorder(share, "an even shard()", fallback=fallback)


class ShardOrder(WrappedOrder):
    """The share of one rank: every ``world``-th position, so that all ranks together go through the order."""

    def __init__(self, inner: Order, rank: int, world: int, remainder: Remainder, group: int | None = None) -> None:
        super().__init__(inner)
        self.rank, self.world, self.remainder = rank, world, remainder
        self._group = group or world
        """Unless the remainder is kept, all ranks together have a multiple of this."""

    def divided(self, rank: int, world: int, remainder: Remainder) -> ShardOrder:
        """Return the share of one rank among which this share is divided, such as the workers of a rank."""
        rank, world = self.rank + self.world * rank, self.world * world
        if remainder == "keep":
            return ShardOrder(self.inner, rank, world, self.remainder, self._group)
        return ShardOrder(self.inner, rank, world, remainder)

    def length(self, which: Epoch) -> int | None:
        total = self.inner.length(which)
        if total is None:
            return None
        left = max(0, total - which.origin)
        if self.remainder == "drop":
            left -= left % self._group
        elif self.remainder == "repeat" and total:
            left += -left % self._group
        return len(range(self.rank, left, self.world))

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        inner = which.origin + positions * self.world + self.rank
        if self.remainder == "repeat":
            inner = inner % finite_length(self.inner, which, 'shard() with remainder="repeat"')
        return self.inner.at(inner, which)

    @property
    def share(self) -> Share:
        return Share(self.rank, self.world, self.remainder)

    @property
    def is_sharded(self) -> bool:
        return True

    def common_place(self, position: int, which: Epoch) -> tuple[int, int]:
        return which.epoch, which.origin + position * self.world

    def has_even_shares(self, which: Epoch) -> bool:
        return self.remainder != "keep" or (self.inner.length(which) or 0) % self.world == 0

    @property
    def calls(self) -> list[str]:
        remainder = None if self.remainder == "keep" else self.remainder
        return [*self.inner.calls, call_text("shard", self.rank, self.world, remainder=remainder)]

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["shard", self.remainder]]


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
