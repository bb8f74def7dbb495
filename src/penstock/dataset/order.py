"""What an order is: the way from positions in a pass to rows of the data, entered anywhere, at no cost of memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import StateError

Ints: TypeAlias = NDArray[np.int64]


class Epoch(NamedTuple):
    """One pass over the data."""

    epoch: int = 0
    origin: int = 0
    """How much of the epoch all ranks together had seen when another number of ranks resumed it."""

    def later(self, epochs: int) -> Epoch:
        """Return the epoch that follows after some epochs; only the first one may have been resumed in its middle."""
        return Epoch(self.epoch + epochs) if epochs else self


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


Remainder: TypeAlias = Literal["keep", "drop", "repeat"]
"""What happens to elements that cannot be divided evenly among ranks."""


class Share(NamedTuple):
    """Which share of the elements an order is."""

    rank: int
    world: int
    remainder: Remainder


class Group(NamedTuple):
    """How an order groups rows into batches."""

    size: int
    drop_last: bool


class Repeats(Protocol):
    """An order that is several epochs of another one."""

    inner: Order
    times: int | None

    def split_one(self, position: int, which: Epoch) -> tuple[int, int]:
        """Return how many epochs lie before a position, and its position within its own epoch."""


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

    @property
    def share(self) -> Share | None:
        """The share of one rank that the order is; of several shard() calls, the last one."""
        return None

    @property
    def is_sharded(self) -> bool:
        """Whether any part of the order is the share of one rank."""
        return self.share is not None

    @property
    def group(self) -> Group | None:
        """How rows are grouped, where the order is one of batches."""
        return None

    @property
    def repeats(self) -> Repeats | None:
        """The order itself where it is a repetition of another one, from its start to its end."""
        return None

    def has_even_shares(self, which: Epoch) -> bool:
        """Whether all ranks have shares of the same length."""
        return True

    def common_place(self, position: int, which: Epoch) -> tuple[int, int]:
        """Return the epoch, and how much of it all ranks together have seen, when all of them are at a position.

        Raises:
            StateError: Another number of ranks cannot resume there.
        """
        raise StateError("rows were dealt out to ranks before their order was decided: call shard() after it")

    @property
    @abstractmethod
    def calls(self) -> list[str]:
        """The method calls that made the order, for display: ``["shuffle(seed=7)"]``."""

    @abstractmethod
    def describe(self) -> list[Any]:
        """Return in JSON what decides the order, without the number of ranks. Saved states compare it."""


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

    @property
    def calls(self) -> list[str]:
        return []

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

    @property
    def share(self) -> Share | None:
        return self.inner.share

    @property
    def is_sharded(self) -> bool:
        return self.inner.is_sharded

    @property
    def group(self) -> Group | None:
        return self.inner.group

    def has_even_shares(self, which: Epoch) -> bool:
        return self.inner.has_even_shares(which)


def call_text(verb: str, *arguments: Any, **options: Any) -> str:
    """Return a method call as text, without options that are None or False."""
    given = [f"{name}={value!r}" for name, value in options.items() if value is not None and value is not False]
    return f"{verb}({', '.join([*map(str, arguments), *given])})"


def join_text(verb: str, children: Sequence[Sequence[str]], **options: Any) -> str:
    """Return a method call that joins datasets as text; each dataset is the calls that made it."""
    return call_text(verb, *(f"[{', '.join(calls)}]" for calls in children), **options)


def finite(order: Order, which: Epoch, what: str) -> int:
    """Return the length of an order that must have one."""
    length = order.length(which)
    if length is None:
        raise ValueError(f"{what} needs an end: put repeat() behind it, or give repeat() a number")
    return length
