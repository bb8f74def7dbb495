"""select(): elements at given positions."""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock.dataset.order import Epoch, Ints, Order, RowKeys, WrappedOrder, call_text
from penstock.dataset.pipeline import Pipeline


def select(pipeline: Pipeline, positions: Ints) -> Pipeline:
    """Return a pipeline of the elements at some positions, in that order."""
    return pipeline.reorder(lambda order: SelectOrder(order, positions), "select()")


class SelectOrder(WrappedOrder):
    """Given positions of another order."""

    def __init__(self, inner: Order, positions: Ints) -> None:
        super().__init__(inner)
        self._positions = positions

    def length(self, which: Epoch) -> int:
        return len(self._positions)

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        return self.inner.at(self._positions[positions], which)

    @property
    def seeks(self) -> bool:
        return True

    @property
    def calls(self) -> list[str]:
        return [*self.inner.calls, call_text("select", f"{len(self._positions)} positions")]

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["picked", len(self._positions), _core.crc32c(self._positions)]]
