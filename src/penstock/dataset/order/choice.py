"""Orders that choose from another: a range, a list, or both of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock.dataset.order.order import Around, Files, Ints, Keys, Order, Pass, Run, finite


class Range(Around):
    """Every ``step``-th position from ``start`` to ``stop`` of another order."""

    def __init__(self, inner: Order, start: int, stop: int | None, step: int = 1) -> None:
        super().__init__(inner)
        self._start, self._stop, self._step = start, stop, step

    def length(self, which: Pass) -> int | None:
        stop = self.inner.length(which) if self._stop is None else self.inner.length_up_to(self._stop, which)
        return None if stop is None else len(range(self._start, stop, self._step))

    def at(self, positions: Ints, which: Pass) -> Keys:
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

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["range", self._start, self._stop, self._step]]


class Picked(Around):
    """The positions that a list names."""

    def __init__(self, inner: Order, positions: Ints) -> None:
        super().__init__(inner)
        self._positions = positions

    def length(self, which: Pass) -> int:
        return len(self._positions)

    def at(self, positions: Ints, which: Pass) -> Keys:
        return self.inner.at(self._positions[positions], which)

    @property
    def seeks(self) -> bool:
        return True

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["picked", len(self._positions), _core.crc32c(self._positions)]]


class Joined(Order):
    """One order behind another; the rows of the second are numbered behind those of the first."""

    def __init__(self, first: Order, second: Order, files_of_first: Files) -> None:
        self._first, self._second, self._files = first, second, files_of_first

    def length(self, which: Pass) -> int | None:
        second = self._second.length(which)
        return None if second is None else finite(self._first, which, "concat") + second

    def at(self, positions: Ints, which: Pass) -> Keys:
        border = finite(self._first, which, "concat")
        rows, epochs = np.empty_like(positions), np.empty_like(positions)
        mine = positions < border
        rows[mine], epochs[mine] = self._first.at(positions[mine], which)
        rows[~mine], epochs[~mine] = self._second.at(positions[~mine] - border, which)
        rows[~mine] += self._files.rows
        return Keys(rows, epochs)

    @property
    def run(self) -> Run | None:
        return Run() if self._first.whole and self._second.whole else None

    @property
    def seeks(self) -> bool:
        return self._first.seeks or self._second.seeks

    @property
    def reach(self) -> int:
        return max(self._first.reach, self._second.reach)

    def describe(self) -> list[Any]:
        return [["concat", self._first.describe(), self._second.describe()]]
