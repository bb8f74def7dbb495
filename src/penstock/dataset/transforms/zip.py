"""zip(): tuples of the elements of several datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from penstock.dataset.block import Block, Cursor, Flow, OpenFlow, is_start, iter_elements
from penstock.dataset.order import Epoch, Order, join_text
from penstock.dataset.pipeline import JoinStart
from penstock.dataset.progress import Meter
from penstock.dataset.stage import ElementSupply
from penstock.dataset.transforms.take_skip import SliceOrder


@dataclass(frozen=True)
class ZipStart(JoinStart):
    """Tuples of the elements of several pipelines; the shortest ends them."""

    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        return ZipFlow(self._openers(meter)).open(cursor)

    def length(self, which: Epoch) -> int | None:
        return min((length for length in self._lengths(which) if length is not None), default=None)

    @property
    def is_indexed(self) -> bool:
        return all(child.is_indexed for child in self.children)

    def reordered(self, change: Callable[[Order], Order]) -> ZipStart | None:
        shortest = self.length(Epoch())
        children = tuple(
            child.reordered(lambda order: change(SliceOrder(order, 0, shortest))) for child in self.children
        )
        whole = tuple(child for child in children if child is not None)
        return ZipStart(whole) if len(whole) == len(children) else None

    def call(self, children: list[list[str]]) -> str:
        return join_text("zip", children)

    def describe(self) -> list[Any]:
        return [["zip", *(child.describe() for child in self.children)]]


class ZipFlow:
    """Tuples of the elements of several flows; the shortest ends them."""

    def __init__(self, children: Sequence[OpenFlow]) -> None:
        self._children = children

    def open(self, cursor: Cursor) -> Flow:
        """Open the flow at a cursor."""
        cursors = [cursor] * len(self._children) if is_start(cursor) else cursor["places"]
        with ExitStack() as stack:
            supplies = [
                stack.enter_context(closing(ElementSupply(child, child_cursor)))
                for child, child_cursor in zip(self._children, cursors, strict=True)
            ]
            while count := min((supply.ready() for supply in supplies), default=0):
                start = {"places": [supply.cursor for supply in supplies]}
                parts = [supply.take_ready(count) for supply in supplies]
                stop = {"places": [supply.cursor for supply in supplies]}
                elements = list(zip(*(iter_elements(part.elements) for part in parts), strict=True))
                yield Block(elements, parts[0].keys, start, stop)
