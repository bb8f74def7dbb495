"""Batches: elements collected, and blocks that are batches already."""

from __future__ import annotations

from contextlib import closing
from dataclasses import KW_ONLY, dataclass
from typing import Any

from penstock.dataset.block import Cursor, Flow, OpenFlow
from penstock.dataset.meter import Meter
from penstock.dataset.stages.elements import CutShort, as_batch, block_of_batch, join
from penstock.dataset.stages.padding import Padding, describe_padding, padded
from penstock.dataset.stages.stage import Stage
from penstock.dataset.stages.supply import Supply


@dataclass(frozen=True)
class Batched(Stage):
    """Collects ``size`` elements to a batch, across blocks; a block that is just as long is used as it lies.

    Args:
        size: How many elements a batch has.
        drop_last: Whether a last batch of fewer is dropped.
        pad: What becomes of columns of unequal rows; by default they are ``Ragged``.
    """

    size: int
    _: KW_ONLY
    drop_last: bool = False
    pad: Padding = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a batch has one element or more, not {self.size}")

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(Supply(upstream, cursor)) as supply:
            while supply.ready():
                start = supply.place
                parts = supply.take(self.size)
                if self.drop_last and sum(map(len, parts)) < self.size:
                    return
                batch = padded(as_batch(join([part.elements for part in parts])), self.pad)
                yield block_of_batch(batch, parts[0].keys, start, supply.place)

    def length(self, upstream: int | None) -> int | None:
        return None if upstream is None else (upstream if self.drop_last else upstream + self.size - 1) // self.size

    def describe(self) -> list[Any]:
        return ["batch", self.size, self.drop_last, describe_padding(self.pad)]


@dataclass(frozen=True)
class Packed(Stage):
    """Makes each block one batch, where they were read as batches: batch i is made of batch i of the reads."""

    one_to_one = True

    _: KW_ONLY
    pad: Padding = None

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(upstream(cursor)) as blocks:
            for block in blocks:
                # A batch with an element that failed is not given in part; its error comes next.
                if not isinstance(block, CutShort):
                    batch = padded(as_batch(block.elements), self.pad)
                    yield block_of_batch(batch, block.keys, block.start, block.stop)

    def describe(self) -> list[Any]:
        return ["pack", describe_padding(self.pad)]
