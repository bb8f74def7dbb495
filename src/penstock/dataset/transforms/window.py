"""window(): batches of successive elements that overlap, or have gaps between them."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from penstock.dataset.block import Block, Cursor, Flow, OpenFlow, as_batch, batch_block, concat_elements, slice_block
from penstock.dataset.order import call_text
from penstock.dataset.progress import Meter
from penstock.dataset.stage import ElementSupply, Stage


@dataclass(frozen=True)
class WindowStage(Stage):
    """Batches of ``size`` elements; each starts ``shift`` elements after the one before."""

    keeps_rows = True
    ignores_columns = True
    groups_rows = True

    size: int
    shift: int
    drop_last: bool

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(ElementSupply(upstream, cursor)) as supply:
            held: deque[tuple[Cursor, Block]] = deque()  # parts of the current window, with the cursors before them
            count = 0
            while True:
                while count < self.size and (ready := supply.ready()):
                    before = supply.cursor
                    held.append((before, supply.take_ready(min(ready, self.size - count))))
                    count += len(held[-1][1])
                if not count or (self.drop_last and count < self.size):
                    return
                start = held[0][0]
                batch = as_batch(concat_elements([part.elements for _, part in held]))
                keys = held[0][1].keys
                left = min(self.shift, count)
                count -= left
                while left:
                    before, part = held.popleft()
                    if left < len(part):
                        later = {"up": before["up"], "skip": before["skip"] + left}
                        held.appendleft((later, slice_block(part, left, len(part))))
                    left -= min(left, len(part))
                if not held:
                    supply.take(max(0, self.shift - self.size))
                yield batch_block(batch, keys, start, held[0][0] if held else supply.cursor)

    def length(self, upstream: int | None) -> int | None:
        if upstream is None:
            return None
        return max(0, upstream - self.size + self.shift if self.drop_last else upstream + self.shift - 1) // self.shift

    @property
    def calls(self) -> list[str]:
        return [call_text("window", self.size, shift=self.shift, drop_last=self.drop_last)]

    def describe(self) -> list[Any]:
        return ["window", self.size, self.shift, self.drop_last]
