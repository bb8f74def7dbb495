"""Orders that choose from another: a range, a list, the share of a rank, the same again."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from penstock import _core
from penstock.dataset.order.order import Ints, Keys, Order, Pass, finite

Remainder: TypeAlias = Literal["keep", "drop", "repeat"]


class Range(Order):
    """Every ``step``-th position from ``start`` to ``stop`` of another order."""

    def __init__(self, inner: Order, start: int, stop: int | None, step: int = 1) -> None:
        self._inner, self._start, self._stop, self._step = inner, start, stop, step

    def length(self, which: Pass) -> int | None:
        most = self._inner.length(which)
        stop = self._stop if most is None else most if self._stop is None else min(self._stop, most)
        return None if stop is None else len(range(self._start, stop, self._step))

    def at(self, positions: Ints, which: Pass) -> Keys:
        return self._inner.at(self._start + positions * self._step, which)

    @property
    def takes_seeks(self) -> bool:
        return self._step < 0 or self._inner.takes_seeks

    def describe(self) -> list[Any]:
        return [*self._inner.describe(), ["range", self._start, self._stop, self._step]]


class Picked(Order):
    """The positions that a list names."""

    def __init__(self, inner: Order, positions: Ints) -> None:
        self._inner, self._positions = inner, positions

    def length(self, which: Pass) -> int:
        return len(self._positions)

    def at(self, positions: Ints, which: Pass) -> Keys:
        return self._inner.at(self._positions[positions], which)

    def describe(self) -> list[Any]:
        return [*self._inner.describe(), ["picked", len(self._positions), _core.crc32c(self._positions)]]


class Ranked(Order):
    """The share of one rank: every ``world``-th position, so that all ranks together walk the order from its start."""

    def __init__(self, inner: Order, rank: int, world: int, remainder: Remainder) -> None:
        self.inner: Order
        self.rank: int
        self.world: int
        self.remainder: Remainder
        self._group: int
        """Where a remainder is not kept, shares of a multiple of this are dealt out."""
        group = world
        if isinstance(inner, Ranked):
            # Ranks of ranks, such as the workers of a rank, are ranks of the whole.
            rank, world = inner.rank + inner.world * rank, inner.world * world
            group = world
            if remainder == "keep":
                remainder, group = inner.remainder, inner._group
            inner = inner.inner
        self.inner, self.rank, self.world, self.remainder = inner, rank, world, remainder
        self._group = group

    def length(self, which: Pass) -> int | None:
        total = self.inner.length(which)
        if total is None:
            return None
        left = max(0, total - which.origin)
        if self.remainder == "drop":
            left -= left % self._group
        elif self.remainder == "repeat" and total:
            left += -left % self._group
        return len(range(self.rank, left, self.world))

    def at(self, positions: Ints, which: Pass) -> Keys:
        inner = which.origin + positions * self.world + self.rank
        if self.remainder == "repeat":
            inner = inner % finite(self.inner, which, "a share that repeats rows")
        return self.inner.at(inner, which)

    @property
    def takes_seeks(self) -> bool:
        return self.inner.takes_seeks

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["shard", self.remainder]]


class Repeated(Order):
    """Epoch after epoch of another order, ``times`` or without end."""

    def __init__(self, inner: Order, times: int | None) -> None:
        self.inner, self._times = inner, times

    def length(self, which: Pass) -> int | None:
        if self._times is None:
            return None
        if self._times == 0:
            return 0
        first, other = self._lengths(which)
        return first + (self._times - 1) * other

    def at(self, positions: Ints, which: Pass) -> Keys:
        rows, epochs = np.empty_like(positions), np.empty_like(positions)
        later, within = self.split(positions, which)
        for epoch in np.unique(later):
            mine = later == epoch
            rows[mine], epochs[mine] = self.inner.at(within[mine], self.pass_of(int(epoch), which))
        return Keys(rows, epochs)

    def split(self, positions: Ints, which: Pass) -> tuple[Ints, Ints]:
        """Answer how many epochs lie before positions, and where in their own epoch they stand."""
        first, other = self._lengths(which)
        behind = positions - first
        later = np.where(behind < 0, 0, behind // max(1, other) + 1)
        return later, np.where(behind < 0, positions, behind % max(1, other))

    @staticmethod
    def pass_of(later: int, which: Pass) -> Pass:
        """Answer the pass that stands ``later`` epochs behind another; only the first was taken up in its middle."""
        return which if later == 0 else Pass(which.epoch + later)

    def _lengths(self, which: Pass) -> tuple[int, int]:
        return finite(self.inner, which, "repeat"), finite(self.inner, Pass(which.epoch + 1), "repeat")

    @property
    def in_file_order(self) -> bool:
        return self.inner.in_file_order

    @property
    def takes_seeks(self) -> bool:
        return self.inner.takes_seeks

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["repeat", self._times]]


class Joined(Order):
    """One order behind another; the rows of each are numbered behind those of the one before."""

    def __init__(self, parts: tuple[tuple[Order, int], ...]) -> None:
        self._parts = parts
        """Orders, and how many rows the data of each has."""

    def length(self, which: Pass) -> int:
        return sum(self._lengths(which))

    def _lengths(self, which: Pass) -> list[int]:
        return [finite(order, which, "concat") for order, _ in self._parts]

    def at(self, positions: Ints, which: Pass) -> Keys:
        rows, epochs = np.empty_like(positions), np.empty_like(positions)
        start = first_row = 0
        for (order, data_rows), length in zip(self._parts, self._lengths(which), strict=True):
            mine = (positions >= start) & (positions < start + length)
            keys = order.at(positions[mine] - start, which)
            rows[mine], epochs[mine] = keys.rows + first_row, keys.epochs
            start += length
            first_row += data_rows
        return Keys(rows, epochs)

    @property
    def in_file_order(self) -> bool:
        return all(order.in_file_order for order, _ in self._parts)

    @property
    def takes_seeks(self) -> bool:
        return any(order.takes_seeks for order, _ in self._parts)

    def describe(self) -> list[Any]:
        return [["concat", *(order.describe() for order, _ in self._parts)]]
