"""Some of a flow's elements: the first, those behind them, every so many-th."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from penstock.dataset.block import Cursor, Flow, OpenFlow
from penstock.dataset.meter import Meter
from penstock.dataset.stages.cursor import is_start
from penstock.dataset.stages.elements import part, placed, some
from penstock.dataset.stages.stage import Stage
from penstock.dataset.stages.supply import Supply


@dataclass(frozen=True)
class Taken(Stage):
    """The first ``count`` elements."""

    count: int

    def __post_init__(self) -> None:
        _check_not_negative(self.count)

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        up, left = (cursor, self.count) if is_start(cursor) else (cursor["up"], cursor["left"])
        if not left:
            return
        with closing(upstream(up)) as blocks:
            for block in blocks:
                taken = part(block, 0, min(left, len(block)))
                start = {"up": block.start, "left": left}
                left -= len(taken)
                yield placed(taken, start, {"up": block.stop, "left": left})
                if not left:
                    return

    def length(self, upstream: int | None) -> int | None:
        # A flow without a known length may be shorter.
        return None if upstream is None else min(upstream, self.count)

    def describe(self) -> list[Any]:
        return ["take", self.count]


@dataclass(frozen=True)
class Skipped(Stage):
    """All elements but the first ``count``."""

    count: int

    def __post_init__(self) -> None:
        _check_not_negative(self.count)

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        place = {"up": cursor, "skip": self.count} if is_start(cursor) else cursor
        with closing(Supply(upstream, place)) as supply:
            while count := supply.ready():
                start = supply.place
                yield placed(supply.take_ready(count), start, supply.place)

    def length(self, upstream: int | None) -> int | None:
        return None if upstream is None else max(0, upstream - self.count)

    def describe(self) -> list[Any]:
        return ["skip", self.count]


@dataclass(frozen=True)
class Strided(Stage):
    """Every ``world``-th element, from number ``rank`` on: the share of one rank of a flow that all ranks walk."""

    rank: int
    world: int

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.world:
            raise ValueError(f"rank is 0 to {self.world - 1}, not {self.rank}")

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        # How many elements of all ranks come before the next one of this rank.
        up, before = (cursor, self.rank) if is_start(cursor) else (cursor["up"], cursor["before"])
        with closing(upstream(up)) as blocks:
            for block in blocks:
                mine = slice(before, None, self.world)
                start = {"up": block.start, "before": before}
                before = (before - len(block)) % self.world
                if mine.start < len(block):
                    yield placed(some(block, mine), start, {"up": block.stop, "before": before})

    def length(self, upstream: int | None) -> int | None:
        return None if upstream is None else len(range(self.rank, upstream, self.world))

    def describe(self) -> list[Any]:
        return ["stride", self.rank, self.world]


def _check_not_negative(count: int) -> None:
    if count < 0:
        raise ValueError(f"a number of elements is 0 or more, not {count}")
