"""filter(): the elements for which a function returns true."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from penstock.dataset.block import Cursor, Flow, OpenFlow, take_from_block, truncated
from penstock.dataset.order import call_text
from penstock.dataset.progress import Meter
from penstock.dataset.transforms.map import FunctionStage, run
from penstock.dataset.workers import name_of


class FilterStage(FunctionStage):
    """Drops the elements for which the function returns false."""

    keeps_rows = True

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(upstream(cursor)) as blocks, closing(run(self, blocks, meter, test=True)) as outcomes:
            for block, (matches, error) in outcomes:
                positions = [position for position, match in enumerate(matches) if match]
                if len(positions) == len(block):
                    yield block
                elif positions:
                    rest = take_from_block(block, positions)
                    yield rest if error is None else truncated(rest)
                if error is not None:
                    raise error

    @property
    def calls(self) -> list[str]:
        return [call_text("filter", name_of(self.fn).rpartition(".")[2], seed=self.seed)]

    def describe(self) -> list[Any]:
        return ["filter", name_of(self.fn), self.seed]
