"""What an order is: the way from positions in a pass to rows of the data, entered anywhere, at no cost of memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]


class Epoch(NamedTuple):
    """One pass over the data."""

    epoch: int = 0
    origin: int = 0
    """How much of the epoch all ranks together had seen when another number of ranks took it up."""


class RowKeys(NamedTuple):
    """Which rows to read, and in which epoch each of them is seen."""

    rows: Ints
    epochs: Ints


class Run(NamedTuple):
    """Positions that follow one another, from the first to the last where it says no more."""

    start: int = 0
    stop: int | None = None

    def part(self, start: int, stop: int | None) -> Run:
        """Return a part of the run, by places in it."""
        ends = (self.stop, None if stop is None else self.start + stop)
        return Run(self.start + start, min((end for end in ends if end is not None), default=None))


class Files(Protocol):
    """What an order may want to know of the files that rows lie in; to ask may cost a look at all of them."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The rows of each file."""

    @property
    def rows(self) -> int:
        """The rows of all files."""

    def rows_beyond(self, row: int) -> int:
        """Count rows, through the file that holds this one at least: to ask may cost less."""

    @property
    def seekable(self) -> bool:
        """Whether all files have random access."""


class Order(ABC):
    """A sequence of rows, different in each epoch where it is shuffled. Immutable."""

    @abstractmethod
    def length(self, which: Epoch) -> int | None:
        """Count the positions of a pass; None: there is no end."""

    def length_up_to(self, most: int, which: Epoch) -> int:
        """Count the positions of a pass, but no more than ``most``, which may cost less."""
        length = self.length(which)
        return most if length is None else min(most, length)

    @abstractmethod
    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        """Return what stands at positions of a pass; they are within its length."""

    @property
    def run(self) -> Run | None:
        """The rows that an epoch is, where they follow one another, so that files can be read as they are."""
        return None

    @property
    def end(self) -> int | None:
        """The row from which on none is asked for, where that is known without a look at the files."""
        return None

    @property
    def whole(self) -> bool:
        """Whether an epoch is all rows from the first to the last."""
        return self.run == Run()

    @property
    def seeks(self) -> bool:
        """Whether rows of a file are read in an order that only random access can give."""
        return False

    @property
    def reach(self) -> int:
        """How far apart in a file rows may be that are read at about the same time."""
        return 0

    @abstractmethod
    def describe(self) -> list[Any]:
        """Say in JSON what decides the order; the number of ranks is no part of it."""


class AllRows(Order):
    """All rows of files, from the first to the last."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def length(self, which: Epoch) -> int:
        return self._files.rows

    def length_up_to(self, most: int, which: Epoch) -> int:
        return min(most, self._files.rows_beyond(most - 1))

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        return RowKeys(positions, np.full(len(positions), which.epoch, np.int64))

    @property
    def run(self) -> Run:
        return Run()

    def describe(self) -> list[Any]:
        return []


class WrappedOrder(Order):
    """An order made of another one."""

    def __init__(self, inner: Order) -> None:
        self.inner = inner

    @property
    def end(self) -> int | None:
        return self.inner.end

    @property
    def seeks(self) -> bool:
        return self.inner.seeks

    @property
    def reach(self) -> int:
        return self.inner.reach


def finite(order: Order, which: Epoch, what: str) -> int:
    """Return the length of an order that must have one."""
    length = order.length(which)
    if length is None:
        raise ValueError(f"{what} needs an end: put repeat() behind it, or give repeat() a number")
    return length
