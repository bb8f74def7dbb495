"""The index of one file, in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.compression import Compression
from penstock.index.file_identity import Identity


@dataclass(frozen=True, eq=False)
class Restarts:
    """Where a compressed file can be inflated from, each with the records from there up to the next place.

    ``first_record`` and ``stream_offset`` have one more entry than there are places, for the end.
    """

    bits: Uint64s
    """Where each deflate block starts in the file, in bits."""
    block_offset: Uint64s
    """Where it starts in the uncompressed stream."""
    first_record: Uint64s
    """The number of the first record that starts there or after it."""
    stream_offset: Uint64s
    """Where the frame of that record starts in the uncompressed stream."""
    windows: tuple[bytes, ...]
    """What the block refers to, up to 32 KiB before it, deflated."""

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def stream_bytes(self) -> int:
        """The size of the uncompressed stream."""
        return int(self.stream_offset[-1])

    def part(self, first: int, last: int) -> Restarts:
        """Return some of the places, and the next ones: they tell where reading can stop."""
        near, ends = slice(first, last + 2), slice(first, last + 1)
        places = self.bits[near], self.block_offset[near]
        return Restarts(*places, self.first_record[ends], self.stream_offset[ends], self.windows[near])

    def holding(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the places that these records come after."""
        return np.searchsorted(self.first_record, rows.astype(np.uint64), side="right") - 1


@dataclass(frozen=True, eq=False)
class Members:
    """Where the members of a gzip file are. Each array has one more entry than there are members, for the end."""

    file_offset: Uint64s
    """The start of each member in the file."""
    stream_offset: Uint64s
    """The start of its content in the uncompressed stream."""
    first_record: Uint64s
    """The number of its first record."""

    def __len__(self) -> int:
        return len(self.file_offset) - 1

    @property
    def records(self) -> int:
        """The number of records in all members."""
        return int(self.first_record[-1])

    @property
    def stream_bytes(self) -> int:
        """The size of the uncompressed stream."""
        return int(self.stream_offset[-1])

    def agree_with(self, lengths: Lengths) -> bool:
        """Return whether the number of records and their total size agree with ``lengths``."""
        return (self.records, int(self.stream_offset[-1])) == (lengths.count, lengths.stream_bytes)

    def part(self, first: int, last: int) -> Members:
        """Return some of the members."""
        ends = slice(first, last + 1)
        return Members(self.file_offset[ends], self.stream_offset[ends], self.first_record[ends])

    def holding(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the members that hold these records."""
        return np.searchsorted(self.first_record, rows.astype(np.uint64), side="right") - 1


class ShardIndex:
    """Where every record of a file is.

    >>> index = open_index("train.tfrecord")
    >>> offsets, lengths = index.locations([3, 1, 2])
    """

    def __init__(
        self,
        *,
        identity: Identity,
        compression: Compression,
        lengths: Lengths | None,
        members: Members | None = None,
        restarts: Restarts | None = None,
        restarts_sought: bool = False,
        measure: Callable[[ShardIndex], Lengths] | None = None,
        unknown: dict[str, Any] | None = None,
    ) -> None:
        self.identity = identity
        """The identity of the file's content when it was indexed."""
        self.compression: Compression = compression
        """The compression of the file; ``""`` for none."""
        self.members = members
        """The members of a gzip file, if they state their sizes and start and end with records; otherwise None."""
        self.restarts = restarts
        """Where a gzip or zlib file without such members can be inflated from; None without such places."""
        self.restarts_sought = restarts_sought
        """Whether such places were looked for; they were not by earlier versions."""
        self.unknown = unknown or {}
        """Keys that a newer Penstock wrote; saved again."""
        self.lengths = lengths
        """The lengths of the records; None if they are not known yet."""
        self.measure = measure
        """Returns the lengths when they are first needed."""

    @property
    def records(self) -> int:
        """The number of records."""
        return self.lengths.count if self.lengths else self.members.records if self.members else 0

    @property
    def seekable(self) -> bool:
        """Whether a record can be read without reading all records before it."""
        return not self.compression or self.segments is not None or not self.records

    @property
    def seekable_by_itself(self) -> bool:
        """Whether that does not depend on restart points."""
        return not self.compression or self.members is not None

    @property
    def segments(self) -> Members | Restarts | None:
        """The parts of a compressed file that are inflated one by one; None if it is read from its start."""
        return self.members if self.members is not None else self.restarts

    def locations(self, rows: ArrayLike) -> tuple[Uint64s, Uint64s]:
        """Return where the frames of these records start in the uncompressed stream, and their payload lengths.

        The members of a gzip file state how many records they hold, not their lengths: for such a file, the first
        call inflates it once. :attr:`members` is available without that.
        """
        return self._measured().locations(np.asarray(rows, np.int64))

    def location(self, row: int) -> tuple[int, int]:
        """Return where the frame of one record starts, and its payload length."""
        return self._measured().location(row)

    def layout(self) -> Layout:
        """Return where all records are, for native readers."""
        return self._measured().layout()

    def _measured(self) -> Lengths:
        if self.lengths is None:
            if self.measure is None:
                raise ValueError("the lengths of the records are not known")
            self.lengths = self.measure(self)
        return self.lengths

    def with_lengths(self, lengths: Lengths) -> ShardIndex:
        """Return the same index with the lengths of the records."""
        return ShardIndex(
            identity=self.identity,
            compression=self.compression,
            lengths=lengths,
            members=self.members,
            restarts=self.restarts,
            restarts_sought=self.restarts_sought,
            unknown=self.unknown,
        )

    def part(self, start: int, stop: int) -> ShardIndex:
        """Return what reading some of the records takes, under their numbers in the file."""
        lengths, members, restarts = self.lengths, self.members, self.restarts
        if self.segments is not None:
            first, last = (int(found) for found in self.segments.holding(np.array([start, stop - 1])))
            members = members and members.part(first, last + 1)
            restarts = restarts and restarts.part(first, last + 1)
        return ShardIndex(
            identity=self.identity,
            compression=self.compression,
            lengths=lengths and lengths.part(start, stop) if self.segments is None else None,
            members=members,
            restarts=restarts,
        )

    def __len__(self) -> int:
        return self.records

    def __repr__(self) -> str:
        kind = f"{self.compression} " if self.compression else ""
        return f"<ShardIndex of {self.records} records in {self.identity.size} {kind}bytes>"


FRAME_OVERHEAD = 16
# Lengths to process at a time: a large index is not copied.
_AT_ONCE = 1 << 20
Uint64s = NDArray[np.uint64]
Layout: TypeAlias = tuple[int, int] | tuple[Uint64s, Uint64s | None]
"""The records of a file: their number and common length; or the starts of frames and the lengths of payloads. The
lengths are None if the frames are contiguous; then the last start is the end of the last frame."""


class Lengths:
    """Payload lengths of consecutive records; a single number if all are equal."""

    def __init__(self, count: int, equal: int | None, starts: Uint64s | None, first: int = 0) -> None:
        self.count = count
        self.equal = equal
        """The length of every record, or None if they differ."""
        self._starts = starts
        self._first = first
        """The record that the first of the starts is about, where only a part of them is known."""

    @classmethod
    def of(cls, parts: Sequence[NDArray[np.unsignedinteger]]) -> Lengths:
        """Concatenate parts of any unsigned type."""
        parts = [part for part in parts if len(part)]
        count = sum(map(len, parts))
        if not parts:
            return cls(0, 0, None)
        first = int(parts[0][0])
        if all(part.min() == part.max() == first for part in parts):
            return cls(count, first, None)
        # Cumulate in place: a large index is in memory once.
        starts = np.empty(count + 1, np.uint64)
        starts[0] = 0
        np.concatenate(parts, out=starts[1:])
        starts[1:] += np.uint64(FRAME_OVERHEAD)
        np.cumsum(starts[1:], out=starts[1:])
        return cls(count, None, starts)

    def part(self, start: int, stop: int) -> Lengths:
        """Return what is needed of it to locate some of the records, by their numbers in the file."""
        if self._starts is None:
            return self
        return Lengths(stop, None, self._starts[start : stop + 1].copy(), start)

    @property
    def stream_bytes(self) -> int:
        """The total size of all frames."""
        if self._starts is not None:
            return int(self._starts[-1])
        return self.count * ((self.equal or 0) + FRAME_OVERHEAD)

    def values(self) -> Uint64s:
        """Return the length of each record."""
        if self._starts is None:
            return np.full(self.count, self.equal or 0, np.uint64)
        return np.diff(self._starts) - np.uint64(FRAME_OVERHEAD)

    def starts(self) -> Uint64s:
        """Return where each frame starts, and where the last one ends."""
        if self._starts is None:
            return np.arange(self.count + 1, dtype=np.uint64) * np.uint64((self.equal or 0) + FRAME_OVERHEAD)
        return self._starts

    def first_from(self, offsets: Uint64s) -> NDArray[np.int64]:
        """Return the first record that starts at or after each offset of the stream; their number where none does."""
        found: NDArray[Any]
        if self._starts is not None:
            found = np.searchsorted(self._starts[:-1], offsets, side="left")
        else:
            whole, rest = np.divmod(offsets, np.uint64((self.equal or 0) + FRAME_OVERHEAD))
            found = np.minimum(whole + (rest > 0), np.uint64(self.count))
        return found.astype(np.int64)

    def starts_of(self, rows: Uint64s) -> Uint64s:
        """Return where the frames of these records start; for the number of records, where the last one ends."""
        if self._starts is not None:
            return self._starts[rows]
        return rows * np.uint64((self.equal or 0) + FRAME_OVERHEAD)

    @property
    def longest(self) -> int:
        """The length of the longest record."""
        if self._starts is None:
            return self.equal or 0
        return int(np.diff(self._starts).max()) - FRAME_OVERHEAD

    def first_above(self, limit: int) -> int | None:
        """Return the number of the first record that is longer than ``limit``, or None."""
        if self._starts is None:
            return 0 if self.count and (self.equal or 0) > limit else None
        for begin in range(0, self.count, _AT_ONCE):
            ends = self._starts[begin : begin + _AT_ONCE + 1]
            above = np.flatnonzero(np.diff(ends) > np.uint64(limit + FRAME_OVERHEAD))
            if len(above):
                return begin + int(above[0])
        return None

    def location(self, row: int) -> tuple[int, int]:
        """Return where the frame of one record starts, and its payload length."""
        if not self._first <= row < self.count:
            raise IndexError(f"there are {self.count} records, found row {row}")
        if self._starts is not None:
            start = int(self._starts[row - self._first])
            return start, int(self._starts[row + 1 - self._first]) - start - FRAME_OVERHEAD
        length = self.equal or 0
        return row * (length + FRAME_OVERHEAD), length

    def locations(self, rows: NDArray[np.int64]) -> tuple[Uint64s, Uint64s]:
        """Return where the frames of these records start, and their payload lengths."""
        if len(rows) and not (rows.min() >= self._first and rows.max() < self.count):
            raise IndexError(f"there are {self.count} records, found rows {rows.min()} to {rows.max()}")
        if self._starts is not None:
            rows = rows - self._first
            starts = self._starts[rows]
            return starts, self._starts[rows + 1] - starts - np.uint64(FRAME_OVERHEAD)
        length = self.equal or 0
        return rows.astype(np.uint64) * np.uint64(length + FRAME_OVERHEAD), np.full(len(rows), length, np.uint64)

    def layout(self) -> Layout:
        """Return where all records are, for native readers."""
        assert not self._first, "a part of an index locates single records"
        return (self.count, self.equal or 0) if self._starts is None else (self._starts, None)


def narrowed(lengths: Uint64s) -> NDArray[np.unsignedinteger]:
    """Return the same lengths in half the memory, if they fit."""
    return lengths.astype(np.uint32) if not len(lengths) or lengths.max() < 1 << 32 else lengths
