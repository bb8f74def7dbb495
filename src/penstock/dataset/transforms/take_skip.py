"""take(), skip() and slices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from penstock.arguments import int_at_least
from penstock.dataset.block import Cursor, Flow, OpenFlow, is_start, slice_block, with_cursors
from penstock.dataset.order import Epoch, Ints, Order, RowKeys, Run, WrappedOrder, call_text
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.stage import ElementSupply, Stage


def take(pipeline: Pipeline, count: int) -> Pipeline:
    """Return a pipeline that ends after ``count`` elements."""
    count = int_at_least("count", count, 0)
    return pipeline.reorder(lambda order: SliceOrder(order, 0, count), "take()", fallback=TakeStage(count))


def skip(pipeline: Pipeline, count: int) -> Pipeline:
    """Return a pipeline without its first ``count`` elements."""
    count = int_at_least("count", count, 0)
    return pipeline.reorder(lambda order: SliceOrder(order, count, None), "skip()", fallback=SkipStage(count))


def slice_elements(pipeline: Pipeline, key: slice, length: Callable[[], int]) -> Pipeline:
    """Return a pipeline of the elements in a slice; ``length`` is called only where a bound depends on it."""
    start, stop, step = _bounds(key, length)
    return pipeline.reorder(lambda order: SliceOrder(order, start, stop, step), "a slice")


def _bounds(key: slice, length: Callable[[], int]) -> tuple[int, int | None, int]:
    start, stop, step = (None if bound is None else operator.index(bound) for bound in (key.start, key.stop, key.step))
    if (start or 0) >= 0 and (stop or 0) >= 0 and (step is None or step > 0):
        return start or 0, stop, step or 1
    return key.indices(length())


class SliceOrder(WrappedOrder):
    """A slice of another order."""

    def __init__(self, inner: Order, start: int, stop: int | None, step: int = 1) -> None:
        super().__init__(inner)
        self._start, self._stop, self._step = start, stop, step

    def length(self, which: Epoch) -> int | None:
        stop = self.inner.length(which) if self._stop is None else self.inner.length_up_to(self._stop, which)
        return None if stop is None else len(range(self._start, stop, self._step))

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        return self.inner.at(self._start + positions * self._step, which)

    @property
    def run(self) -> Run | None:
        inner = self.inner.run if self._step == 1 else None
        return None if inner is None else inner.part(self._start, self._stop)

    @property
    def end(self) -> int | None:
        run = self.inner.run if self._step > 0 else None
        return self.inner.end if run is None else run.part(self._start, self._stop).stop

    @property
    def seeks(self) -> bool:
        return self._step < 0 or self.inner.seeks

    @property
    def calls(self) -> list[str]:
        start, stop, step = self._start, self._stop, self._step
        if step == 1 and stop is None:
            return [*self.inner.calls, call_text("skip", start)]
        if step == 1 and not start:
            return [*self.inner.calls, call_text("take", stop)]
        return [*self.inner.calls, f"[{start}:{'' if stop is None else stop}{'' if step == 1 else f':{step}'}]"]

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["range", self._start, self._stop, self._step]]


@dataclass(frozen=True)
class TakeStage(Stage):
    """The first ``count`` elements."""

    keeps_rows = True
    ignores_columns = True

    count: int

    def __post_init__(self) -> None:
        _check_not_negative(self.count)

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        up, left = (cursor, self.count) if is_start(cursor) else (cursor["up"], cursor["left"])
        if not left:
            return
        with closing(upstream(up)) as blocks:
            for block in blocks:
                taken = slice_block(block, 0, min(left, len(block)))
                start = {"up": block.start, "left": left}
                left -= len(taken)
                yield with_cursors(taken, start, {"up": block.stop, "left": left})
                if not left:
                    return

    def length(self, upstream: int | None) -> int | None:
        # A flow without a known length may be shorter.
        return None if upstream is None else min(upstream, self.count)

    @property
    def calls(self) -> list[str]:
        return [call_text("take", self.count)]

    def describe(self) -> list[Any]:
        return ["take", self.count]


@dataclass(frozen=True)
class SkipStage(Stage):
    """All elements but the first ``count``."""

    keeps_rows = True
    ignores_columns = True

    count: int

    def __post_init__(self) -> None:
        _check_not_negative(self.count)

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        position = {"up": cursor, "skip": self.count} if is_start(cursor) else cursor
        with closing(ElementSupply(upstream, position)) as supply:
            while count := supply.ready():
                start = supply.cursor
                yield with_cursors(supply.take_ready(count), start, supply.cursor)

    def length(self, upstream: int | None) -> int | None:
        return None if upstream is None else max(0, upstream - self.count)

    @property
    def calls(self) -> list[str]:
        return [call_text("skip", self.count)]

    def describe(self) -> list[Any]:
        return ["skip", self.count]


def _check_not_negative(count: int) -> None:
    if count < 0:
        raise ValueError(f"the number of elements must be 0 or more, not {count}")
