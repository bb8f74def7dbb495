"""Orders that say how often and for whom: the share of a rank, epoch after epoch."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from penstock.dataset.order.order import Around, Ints, Keys, Order, Pass, finite

Remainder: TypeAlias = Literal["keep", "drop", "repeat"]
"""What is done about rows that cannot be dealt out evenly."""


class Ranked(Around):
    """The share of one rank: every ``world``-th position, so that all ranks together walk the order from its start."""

    def __init__(self, inner: Order, rank: int, world: int, remainder: Remainder, group: int | None = None) -> None:
        super().__init__(inner)
        self.rank, self.world, self.remainder = rank, world, remainder
        self._group = group or world
        """Where a remainder is not kept, a multiple of this is dealt out."""

    def divided(self, rank: int, world: int, remainder: Remainder) -> Ranked:
        """Answer the share of one of the ranks that this share is divided among, such as the workers of a rank."""
        rank, world = self.rank + self.world * rank, self.world * world
        if remainder == "keep":
            return Ranked(self.inner, rank, world, self.remainder, self._group)
        return Ranked(self.inner, rank, world, remainder)

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

    def is_even(self, which: Pass) -> bool:
        """Whether all ranks have shares of the same length."""
        return self.remainder != "keep" or (self.inner.length(which) or 0) % self.world == 0

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["shard", self.remainder]]


class Repeated(Around):
    """Epoch after epoch of another order, ``times`` or without end."""

    def __init__(self, inner: Order, times: int | None) -> None:
        super().__init__(inner)
        self.times = times

    def length(self, which: Pass) -> int | None:
        first, other = self._lengths(which)
        if self.times is None:
            return None if first or other else 0  # nothing, again and again, is nothing
        return first + (self.times - 1) * other if self.times else 0

    def at(self, positions: Ints, which: Pass) -> Keys:
        later, within = self.split(positions, which)
        if len(later) and later[0] == later[-1] and (later == later[0]).all():  # as in nearly every block
            return self.inner.at(within, later_pass(which, int(later[0])))
        rows, epochs = np.empty_like(positions), np.empty_like(positions)
        for epoch in np.unique(later).tolist():
            mine = later == epoch
            rows[mine], epochs[mine] = self.inner.at(within[mine], later_pass(which, epoch))
        return Keys(rows, epochs)

    def split(self, positions: Ints, which: Pass) -> tuple[Ints, Ints]:
        """Answer how many epochs lie before positions, and where in their own epoch they stand."""
        first, other = self._lengths(which)
        behind = positions - first
        if not other:
            return np.zeros_like(positions), positions
        return np.where(behind < 0, 0, behind // other + 1), np.where(behind < 0, positions, behind % other)

    def split_one(self, position: int, which: Pass) -> tuple[int, int]:
        """Answer the same of one position."""
        later, within = self.split(np.array([position]), which)
        return int(later[0]), int(within[0])

    def _lengths(self, which: Pass) -> tuple[int, int]:
        return finite(self.inner, which, "repeat"), finite(self.inner, later_pass(which, 1), "repeat")

    def describe(self) -> list[Any]:
        return [*self.inner.describe(), ["repeat", self.times]]


def later_pass(which: Pass, epochs: int) -> Pass:
    """Answer the pass that stands some epochs behind another; only the first was taken up in its middle."""
    return Pass(which.epoch + epochs) if epochs else which
