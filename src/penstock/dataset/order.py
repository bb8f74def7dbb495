"""Order: maps positions in an epoch to rows of the files, from any position on and without a list of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import StateError

Ints: TypeAlias = NDArray[np.int64]
Origin: TypeAlias = int | list[list[int]]
"""How many elements were seen; or in JSON, the rounds in which ranks stopped (see ``transforms/shard.py``)."""


class Epoch(NamedTuple):
    """One iteration over the data."""

    epoch: int = 0
    origin: Origin = 0
    """What all ranks together had seen of the epoch when another number of ranks resumed it."""
    strided: bool = False
    """Whether ranks take rows in turn, one by one, as in states of version 1, and not in runs."""

    def later(self, epochs: int) -> Epoch:
        """Return the epoch some epochs later; only the first one may have been resumed in its middle."""
        return Epoch(self.epoch + epochs, strided=self.strided) if epochs else self


class RowKeys(NamedTuple):
    """Rows, and the epoch in which each of them is read."""

    rows: Ints
    epochs: Ints


class Run(NamedTuple):
    """Successive positions; ``stop`` None means to the end."""

    start: int = 0
    stop: int | None = None

    def part(self, start: int, stop: int | None) -> Run:
        """Return a part of the run, by positions in it."""
        ends = (self.stop, None if stop is None else self.start + stop)
        return Run(self.start + start, min((end for end in ends if end is not None), default=None))


class Files(Protocol):
    """What orders need to know of the files; a call may have to read all of them."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of rows of each file."""

    @property
    def rows(self) -> int:
        """The number of rows of all files."""

    def rows_beyond(self, row: int) -> int:
        """Count the rows of the files up to the one that holds ``row``, or of more: it may read fewer files."""

    @property
    def seekable(self) -> bool:
        """Whether all files have random access."""

    @property
    def seekable_by_themselves(self) -> bool:
        """Whether all files have random access that does not depend on restart points in their indexes."""

    @property
    def rows_per_run(self) -> int:
        """How many rows have about 1 MiB as stored."""

    @property
    def has_byte_ranges(self) -> bool:
        """Whether a row is read without decompressing those next to it."""


Remainder: TypeAlias = Literal["keep", "drop", "repeat"]
"""What happens to elements that cannot be divided evenly among ranks."""


class Share(NamedTuple):
    """Which share of the elements an order is."""

    rank: int
    world: int | list[int]
    """The number of ranks; of shares that were divided in runs once more, one number for each division."""
    remainder: Remainder


class Repeats(Protocol):
    """An order that is several epochs of another one."""

    inner: Order
    times: int | None

    def split_one(self, position: int, which: Epoch) -> tuple[int, int]:
        """Return how many epochs lie before a position, and its position within its own epoch."""


class Order(ABC):
    """A sequence of rows in each epoch. Immutable."""

    @abstractmethod
    def length(self, which: Epoch) -> int | None:
        """Return the number of positions of an epoch; None where it has no end."""

    def length_up_to(self, most: int, which: Epoch) -> int:
        """Return the number of positions, or ``most`` where there are more: it may read fewer files."""
        length = self.length(which)
        return most if length is None else min(most, length)

    @abstractmethod
    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        """Return the rows at positions of an epoch, which are within its length."""

    @property
    def run(self) -> Run | None:
        """The rows of an epoch where they are successive, so that files can be streamed."""
        return None

    @property
    def end(self) -> int | None:
        """The row after the last one that the order can reach, where that is known without reading files."""
        return None

    @property
    def whole(self) -> bool:
        """Whether an epoch is all rows, from the first to the last."""
        return self.run == Run()

    @property
    def seeks(self) -> bool:
        """Whether the order needs random access within files."""
        return False

    @property
    def reach(self) -> int:
        """How far apart in a file rows can be that are read at about the same time."""
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
    def drops_last(self) -> bool:
        """Whether the order is one of batches, and a smaller last batch is dropped."""
        return False

    @property
    def in_files_order(self) -> bool:
        """Whether positions that follow one another are rows, or batches of rows, that do, but for ends of epochs."""
        repeated = self.repeats
        return self.run is not None if repeated is None else repeated.inner.in_files_order

    @property
    def repeats(self) -> Repeats | None:
        """The order itself where it is a repetition of another one, from its start to its end."""
        return None

    def has_even_shares(self, which: Epoch) -> bool:
        """Whether all ranks have shares of the same length."""
        return True

    def common_place(self, position: int, which: Epoch) -> tuple[int, Origin]:
        """Return the epoch, and how much of it all ranks together have seen, when all of them are at a position.

        Raises:
            StateError: Another number of ranks cannot resume there.
        """
        raise StateError(
            "ranks have fixed shares of the rows, because shard() comes before the order: call it after shuffle()"
        )

    @property
    @abstractmethod
    def calls(self) -> list[str]:
        """The method calls that made the order, for display: ``["shuffle(seed=7)"]``."""

    @abstractmethod
    def describe(self) -> list[Any]:
        """Return in JSON what decides the order, without the number of ranks. Saved states compare it."""


class AllRows(Order):
    """All rows of the files, from the first to the last."""

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
    """An order that wraps another one, and takes facts from it."""

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
    def drops_last(self) -> bool:
        return self.inner.drops_last

    def has_even_shares(self, which: Epoch) -> bool:
        return self.inner.has_even_shares(which)


def call_text(verb: str, *arguments: Any, **options: Any) -> str:
    """Return a method call as text, without options that are None or False."""
    given = [f"{name}={value!r}" for name, value in options.items() if value is not None and value is not False]
    return f"{verb}({', '.join([*map(str, arguments), *given])})"


def join_text(verb: str, children: Sequence[Sequence[str]], **options: Any) -> str:
    """Return a method call that joins datasets as text; each dataset is the calls that made it."""
    return call_text(verb, *(f"[{', '.join(calls)}]" for calls in children), **options)


def finite_length(order: Order, which: Epoch, what: str) -> int:
    """Return the length of an order; raise ValueError where it has no end."""
    length = order.length(which)
    if length is None:
        raise ValueError(f"{what} needs a dataset that ends: call repeat() after it, or repeat a number of times")
    return length
