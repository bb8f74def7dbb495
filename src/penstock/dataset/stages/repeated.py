"""The same flow again and again, each time as the next epoch."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any

from penstock.dataset.block import Cursor, Flow, OpenFlow
from penstock.dataset.meter import Meter
from penstock.dataset.stages.cursor import epoch_of, is_start, start_of
from penstock.dataset.stages.elements import placed
from penstock.dataset.stages.stage import Stage


@dataclass(frozen=True)
class RepeatedFlow(Stage):
    """Epoch after epoch, ``times`` or without end."""

    times: int | None = None

    def __post_init__(self) -> None:
        if self.times is not None and self.times < 0:
            raise ValueError(f"a flow is repeated 0 times or more, not {self.times}")

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        if is_start(cursor):
            cursor = {"first": epoch_of(cursor), "done": 0, "up": cursor}
        first, up = cursor["first"], cursor["up"]
        for done in count(cursor["done"]):
            if done == self.times:
                return
            empty = is_start(up)
            with closing(upstream(up)) as blocks:
                for block in blocks:
                    empty = False
                    place = {"first": first, "done": done}
                    yield placed(block, place | {"up": block.start}, place | {"up": block.stop})
            if empty and self.times is None:
                return  # rather than look for an element for ever
            up = start_of(first + done + 1)

    def length(self, upstream: int | None) -> int | None:
        if self.times is None or upstream is None:
            return 0 if upstream == 0 or self.times == 0 else None
        return self.times * upstream

    def describe(self) -> list[Any]:
        return ["repeat", self.times]
