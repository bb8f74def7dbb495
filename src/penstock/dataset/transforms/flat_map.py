"""flat_map(): a function that returns any number of elements for each one."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.columns import Batch
from penstock.dataset.block import Cursor, Flow, OpenFlow, iter_elements, take_keys, truncated
from penstock.dataset.order import RowKeys, call_text
from penstock.dataset.progress import Meter
from penstock.dataset.transforms.map import FunctionStage, run
from penstock.dataset.transforms.unbatch import keys_within
from penstock.dataset.workers import name_of
from penstock.schema import Schema


class FlatMapStage(FunctionStage):
    """Returns the elements that the function returns for each element, in their order."""

    groups_rows = None

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        listed = replace(self, fn=Listed(self.fn))
        with closing(upstream(cursor)) as blocks, closing(run(listed, blocks, meter, test=False)) as outcomes:
            for block, (results, error) in outcomes:
                elements = [element for result in results for element in result]
                if elements:
                    keys = take_keys(block.keys, slice(len(results)))
                    within: RowKeys = keys_within(keys, np.array([len(result) for result in results]))
                    found = replace(block, elements=elements, keys=within)
                    yield found if error is None else truncated(found)
                if error is not None:
                    raise error

    def schema_after(self, schema: Schema) -> None:
        return None

    @property
    def calls(self) -> list[str]:
        return [call_text("flat_map", name_of(self.fn).rpartition(".")[2], seed=self.seed)]

    def describe(self) -> list[Any]:
        return ["flat_map", name_of(self.fn), self.seed]


class Listed:
    """Calls a function and lists what it returns, so that the errors of a generator are those of the call."""

    def __init__(self, fn: Any) -> None:
        self._fn = fn
        self.__module__, self.__qualname__ = name_of(fn).rpartition(".")[::2]  # for messages

    def __call__(self, *arguments: Any) -> list[Any]:
        result = self._fn(*arguments)
        if isinstance(result, dict | str | bytes):
            raise TypeError(f"flat_map() needs a function that returns a list of elements, not {type(result).__name__}")
        return list(iter_elements(result) if isinstance(result, Batch) else result)
