"""What an order is: the way from positions in a pass to rows of the data, entered anywhere, at no cost of memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]


class Pass(NamedTuple):
    """One pass over the data."""

    epoch: int = 0
    origin: int = 0
    """How much of the epoch all ranks together had seen when another number of ranks took it up."""


class Keys(NamedTuple):
    """Which rows to read, and in which epoch each of them is seen."""

    rows: Ints
    epochs: Ints


class Order(ABC):
    """A sequence of rows, different in each epoch where it is shuffled. Immutable."""

    @abstractmethod
    def length(self, which: Pass) -> int | None:
        """Count the positions of a pass; None: there is no end."""

    @abstractmethod
    def at(self, positions: Ints, which: Pass) -> Keys:
        """Answer what stands at positions of a pass; they are within its length."""

    @property
    def in_file_order(self) -> bool:
        """Whether each epoch reads all rows from the first to the last."""
        return False

    @property
    def takes_seeks(self) -> bool:
        """Whether rows are read in an order that a file without random access cannot give."""
        return not self.in_file_order

    @abstractmethod
    def describe(self) -> list[Any]:
        """Say in JSON what decides the order; the number of ranks is no part of it."""


class Sequential(Order):
    """All rows, from the first to the last."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def length(self, which: Pass) -> int:
        return self._rows

    def at(self, positions: Ints, which: Pass) -> Keys:
        return Keys(positions, np.full(len(positions), which.epoch, np.int64))

    @property
    def in_file_order(self) -> bool:
        return True

    def describe(self) -> list[Any]:
        return []


def finite(order: Order, which: Pass, what: str) -> int:
    """Answer the length of an order that must have one."""
    length = order.length(which)
    if length is None:
        raise ValueError(f"{what} needs an end: put repeat() behind it, or give repeat() a number")
    return length
