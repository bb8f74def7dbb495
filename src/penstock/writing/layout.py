"""Layouts: which shard each row goes to.

Rows keep their order over the shards in all of them, except that a shuffled stream is dealt to all shards at once, to
spread rows that were near each other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from itertools import pairwise, repeat
from typing import Any, Protocol, TypeAlias

from penstock import _core
from penstock.arguments import int_at_least
from penstock.storage import StrPath
from penstock.storage.local import allow_open_files
from penstock.writing.destination import Destination, FileDestination, is_file_name
from penstock.writing.shard_writer import NO_LIMIT, RowBlock, ShardWriter, piece_bytes
from penstock.writing.spool import SpooledShards

ShardSizes: TypeAlias = tuple[int | None, int | None, int | None]
"""The options shards, rows_per_shard and shard_bytes, of which at most one is not None."""
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


class Sink(Protocol):
    """Takes rows in order: a shard, or something that makes shards of them."""

    @property
    def takes_any_piece(self) -> bool:
        """Whether the bytes are the same wherever frames are cut into pieces."""

    def write(self, block: RowBlock, first: int, stop: int) -> object:
        """Encode and write some rows of a block."""

    def send(self, frames: _core.FrameBuffer) -> None:
        """Write frames, and leave the buffer empty."""


class Layout(Protocol):
    """Decides which shard each row goes to."""

    def place(self, rows: int) -> Iterable[tuple[Sink, int, int, bool]]:
        """Return where the rows of the next block go: to which sink, from where to where, and whether that fills it.

        A list is written at once, an iterator one by one: it opens a shard when the one before is full.
        """

    def close(self, pool: Executor) -> list[ShardWriter]:
        """Finish all shards, and return them in order."""

    def abort(self) -> None:
        """Remove files that the destination does not know."""


def open_destination(path: StrPath, sizes: ShardSizes, **options: Any) -> Destination:
    """Return the files of a dataset, or the one file that a path with an extension names."""
    if not is_file_name(path):
        return Destination(path, **options)
    if sizes not in ((None,) * 3, (1, None, None)):
        raise ValueError(f"{os.fspath(path)} is one file: leave out the extension to write several")
    return FileDestination(path, **options)


def open_layout(destination: Destination, sizes: ShardSizes, *, num_rows: int | None, deal: bool) -> Layout:
    """Return the layout that options ask for; ``num_rows`` is the number of all rows, where it is known."""
    shards, rows_per_shard, shard_bytes = sizes
    if shard_bytes is not None:
        return ByteSizedShards(destination, shard_bytes)
    if rows_per_shard is not None:
        return ShardSequence(destination, repeat(rows_per_shard), None)
    count = shards or 1
    if count == 1:
        return ShardSequence(destination, [NO_LIMIT], 1)
    if deal:
        return DealtShards(destination, count)
    if num_rows is not None:
        return ShardSequence(destination, _sizes(num_rows, count), count)
    return SpooledShards(destination, count)


class ShardSequence:
    """Shards one after another, each with a given number of rows.

    Args:
        destination: Where the shards are.
        sizes: The rows of each shard.
        count: How many shards there are, of which the last one takes all further rows; None: as many as needed.
    """

    def __init__(self, destination: Destination, sizes: Iterable[int], count: int | None) -> None:
        self._destination = destination
        self._sizes = iter(sizes)
        self._count = count
        self._shards: list[ShardWriter] = []
        self._room = 0  # for rows in the last one

    def bounds(self, rows: int) -> list[int]:
        """Return where the part of each shard begins, of a table, and the end of the last."""
        bounds = [0]
        while bounds[-1] < rows or len(bounds) <= (self._count or 1):
            bounds.append(min(rows, bounds[-1] + next(self._sizes)))
        return bounds

    def place(self, rows: int) -> Iterator[tuple[Sink, int, int, bool]]:
        """Return where the rows of the next block go."""
        first = 0
        while first < rows:
            if not self._room:
                self._open()
                continue
            stop = min(rows, first + self._room)
            self._room -= stop - first
            yield self._shards[-1], first, stop, not self._room
            first = stop

    def close(self, pool: Executor) -> list[ShardWriter]:
        """Finish all shards, and return them in order."""
        if self._room:
            self._destination.finish(self._shards[-1])
        while len(self._shards) < (self._count or 1):
            self._open()
            if self._room:
                self._destination.finish(self._shards[-1])
        return self._shards

    def abort(self) -> None:
        """Do nothing: the destination knows all files."""

    def _open(self) -> None:
        shard = self._destination.open(len(self._shards), self._count)
        self._shards.append(shard)
        self._room = next(self._sizes) if len(self._shards) != self._count else NO_LIMIT
        if not self._room:
            self._destination.finish(shard)


class ByteSizedShards:
    """Shards one after another, each of which ends with the row that brings its frames to a given size.

    Frames are measured before they are compressed: so where a shard ends does not depend on the machine.
    """

    takes_any_piece = False

    def __init__(self, destination: Destination, size: int) -> None:
        self._destination = destination
        self._size = size
        self._shards: list[ShardWriter] = []
        self._is_full = True

    def place(self, rows: int) -> Iterator[tuple[Sink, int, int, bool]]:
        """Return where the rows of the next block go."""
        yield self, 0, rows, False

    def write(self, block: RowBlock, first: int, stop: int) -> None:
        """Write rows of a block."""
        while first < stop:
            if self._is_full:
                self._shards.append(self._destination.open(len(self._shards), None))
            first = self._shards[-1].write(block, first, stop, self._size)
            self._is_full = self._shards[-1].framed_bytes >= self._size
            if self._is_full:
                self._destination.finish(self._shards[-1])

    def send(self, frames: _core.FrameBuffer) -> None:
        """Never called: pieces would end elsewhere than shards."""
        raise NotImplementedError

    def close(self, pool: Executor) -> list[ShardWriter]:
        """Finish all shards, and return them in order."""
        if not self._shards:
            self._shards.append(self._destination.open(0, None))
            self._is_full = False
        if not self._is_full:
            self._destination.finish(self._shards[-1])
        return self._shards

    def abort(self) -> None:
        """Do nothing: the destination knows all files."""


class DealtShards:
    """Shards that each get a part of every block, of even sizes in the end."""

    def __init__(self, destination: Destination, count: int) -> None:
        if destination.is_local:
            allow_open_files(count)
        self._destination = destination
        self._shards = [destination.open(number, count, piece_bytes(count)) for number in range(count)]
        self._rows = 0

    def place(self, rows: int) -> list[tuple[Sink, int, int, bool]]:
        """Return where the rows of the next block go."""
        bounds = deal(self._rows, rows, len(self._shards))
        self._rows += rows
        return [
            (shard, first, stop, False)
            for shard, (first, stop) in zip(self._shards, pairwise(bounds), strict=True)
            if first < stop
        ]

    def close(self, pool: Executor) -> list[ShardWriter]:
        """Finish all shards, and return them in order."""
        for shard in self._shards:
            self._destination.finish(shard)
        return self._shards

    def abort(self) -> None:
        """Do nothing: the destination knows all files."""


def deal(first: int, rows: int, shards: int) -> list[int]:
    """Return where each shard's part of a block begins, and the end of the last.

    A shard's part is as large as if rows had been dealt one by one, whatever the blocks: over any number of blocks, no
    shard has more than one row more than another.
    """
    bounds = [0]
    for shard in range(shards):
        bounds.append(bounds[-1] + _dealt(first + rows, shard, shards) - _dealt(first, shard, shards))
    return bounds


def _dealt(rows: int, shard: int, shards: int) -> int:
    return (rows + shards - 1 - shard) // shards


def _sizes(rows: int, shards: int) -> list[int]:
    """Return the rows of each shard."""
    return [stop - first for first, stop in pairwise(rows * shard // shards for shard in range(shards + 1))]


def check_shard_sizes(shards: int | None, rows_per_shard: int | None, shard_bytes: int | str | None) -> ShardSizes:
    """Check the options that say how rows are cut into shards, of which at most one is given."""
    if sum(option is not None for option in (shards, rows_per_shard, shard_bytes)) > 1:
        raise ValueError("pass one of shards, rows_per_shard and shard_bytes")
    return (
        None if shards is None else int_at_least("shards", shards, 1),
        None if rows_per_shard is None else int_at_least("rows_per_shard", rows_per_shard, 1),
        None if shard_bytes is None else bytes_of("shard_bytes", shard_bytes),
    )


def bytes_of(name: str, size: int | str) -> int:
    """Return a number of bytes: an integer, or a text such as ``"256MB"`` or ``"1GiB"``."""
    if not isinstance(size, str):
        return int_at_least(name, size, 1)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B", size.strip(), re.IGNORECASE)
    value = 0 if found is None else int(float(found[1]) * (1024 if found[3] else 1000) ** _UNITS[found[2].upper()])
    if value < 1:
        raise ValueError(f'{name} is a number of bytes, or a text such as "256MB" or "1GiB", not {size!r}')
    return value
