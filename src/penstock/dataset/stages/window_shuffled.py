"""Shuffled by windows, for flows whose elements are only known once they come."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from penstock import _core
from penstock.dataset.block import Block, Cursor, Flow, OpenFlow
from penstock.dataset.meter import Meter
from penstock.dataset.stages.cursor import is_start
from penstock.dataset.stages.elements import join, join_keys, some
from penstock.dataset.stages.stage import Stage
from penstock.dataset.stages.supply import Supply


@dataclass(frozen=True)
class WindowShuffled(Stage):
    """Collects ``window`` elements at a time and gives them in random order, another one in each epoch."""

    seed: int
    window: int

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"a window holds one element or more, not {self.window}")

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(Supply(upstream, cursor)) as supply:
            for number in count(0 if is_start(cursor) else cursor["window"]):
                if not supply.ready():
                    return
                start = supply.place | {"window": number}
                parts = supply.take(self.window)
                stop = supply.place | {"window": number + 1}
                keys = join_keys([part.keys for part in parts])
                collected = Block(join([part.elements for part in parts]), keys, start, stop)
                yield some(collected, self._order(len(collected), int(keys.epochs[0]), number))

    def _order(self, length: int, epoch: int, number: int) -> list[int]:
        order = _core.permute(np.arange(length), length, seed=self.seed, epoch=epoch, stream=number)
        positions: list[int] = order.tolist()
        return positions

    def length(self, upstream: int | None) -> int | None:
        return upstream

    def describe(self) -> list[Any]:
        return ["shuffle", self.seed, self.window]
