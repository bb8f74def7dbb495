"""repeat(): several epochs, or an endless sequence of them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from penstock.arguments import int_at_least
from penstock.dataset.block import Cursor, Flow, OpenFlow, epoch_of, is_start, start_of, with_cursors
from penstock.dataset.order import Epoch, Ints, Order, Origin, Repeats, RowKeys, WrappedOrder, call_text, finite_length
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage
from penstock.errors import StateError


def repeat(pipeline: Pipeline, times: int | None) -> Pipeline:
    """Return a pipeline that iterates another one ``times`` times, or without end."""
    if times is not None:
        times = int_at_least("times", times, 0)
    return pipeline.reorder(lambda order: RepeatOrder(order, times), "repeat()", fallback=RepeatStage(times))


class RepeatOrder(WrappedOrder):
    """Several epochs of another order; ``times`` None is without end."""

    def __init__(self, inner: Order, times: int | None) -> None:
        super().__init__(inner)
        self.times = times

    def length(self, which: Epoch) -> int | None:
        first, other = self._lengths(which)
        if self.times is None:
            return None if first or other else 0  # repeating an empty epoch would never end
        return first + (self.times - 1) * other if self.times else 0

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        later, within = self.split(positions, which)
        if len(later) and later[0] == later[-1] and (later == later[0]).all():  # true of nearly every block
            return self.inner.at(within, which.later(int(later[0])))
        rows, epochs = np.empty_like(positions), np.empty_like(positions)
        for epoch in np.unique(later).tolist():
            mine = later == epoch
            rows[mine], epochs[mine] = self.inner.at(within[mine], which.later(epoch))
        return RowKeys(rows, epochs)

    def split(self, positions: Ints, which: Epoch) -> tuple[Ints, Ints]:
        """Return how many epochs lie before positions, and their positions within their own epoch."""
        first, other = self._lengths(which)
        after_first = positions - first
        if not other:
            return np.zeros_like(positions), positions
        return np.where(after_first < 0, 0, after_first // other + 1), np.where(
            after_first < 0, positions, after_first % other
        )

    def split_one(self, position: int, which: Epoch) -> tuple[int, int]:
        """Return ``split`` of one position."""
        later, within = self.split(np.array([position]), which)
        return int(later[0]), int(within[0])

    @property
    def repeats(self) -> Repeats:
        return self

    def common_place(self, position: int, which: Epoch) -> tuple[int, Origin]:
        if not self.inner.has_even_shares(which):
            raise StateError(
                "the shares of the ranks have different lengths, so that ranks are in different epochs: "
                'shard with remainder="drop" or "repeat" where the number of ranks may change'
            )
        later, within = self.split_one(position, which)
        return self.inner.common_place(within, which.later(later))

    def _lengths(self, which: Epoch) -> tuple[int, int]:
        return finite_length(self.inner, which, "repeat"), finite_length(self.inner, which.later(1), "repeat")

    @property
    def calls(self) -> list[str]:
        return [*self.inner.calls, call_text("repeat", *([] if self.times is None else [self.times]))]

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["repeat", self.times]]


@dataclass(frozen=True)
class RepeatStage(Stage):
    """Several epochs; ``times`` None is without end."""

    keeps_rows = True
    ignores_columns = True

    times: int | None = None

    def __post_init__(self) -> None:
        if self.times is not None and self.times < 0:
            raise ValueError(f"repeat() takes 0 times or more, not {self.times}")

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
                    position = {"first": first, "done": done}
                    yield with_cursors(block, position | {"up": block.start}, position | {"up": block.stop})
            if empty and self.times is None:
                return  # repeating an empty epoch would never end
            up = start_of(first + done + 1)

    def length(self, upstream: int | None) -> int | None:
        if self.times is None or upstream is None:
            return 0 if upstream == 0 or self.times == 0 else None
        return self.times * upstream

    @property
    def calls(self) -> list[str]:
        return [call_text("repeat", *([] if self.times is None else [self.times]))]

    def describe(self) -> list[Any]:
        return ["repeat", self.times]
