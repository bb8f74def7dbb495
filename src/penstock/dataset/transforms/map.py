"""Map: what a function makes of each element."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

from penstock.dataset.block import Cursor, Flow, OpenFlow, cut_short, pick_keys
from penstock.dataset.progress import Meter
from penstock.dataset.workers import FunctionStage, name_of, run


class MapStage(FunctionStage):
    """Gives what the function returns, in the order of the elements."""

    one_to_one = True

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(upstream(cursor)) as blocks, closing(run(self, blocks, meter, test=False)) as outcomes:
            for block, (results, error) in outcomes:
                if error is None:
                    yield replace(block, elements=results)
                    continue
                if results:
                    keys = pick_keys(block.keys, slice(len(results)))
                    yield cut_short(replace(block, elements=results, keys=keys))
                raise error

    def describe(self) -> list[Any]:
        return ["map", name_of(self.fn), self.seed]
