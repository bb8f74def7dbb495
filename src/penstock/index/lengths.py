"""The lengths of a file's records, and from them the places of its frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FRAME_OVERHEAD = 16

# Lengths that are looked at together: a large index is not held twice.
_AT_ONCE = 1 << 20

Uint64s = NDArray[np.uint64]

Layout: TypeAlias = tuple[int, int] | tuple[Uint64s, Uint64s | None]
"""The records of a file: how many and how long each; or the starts of frames and the lengths of payloads, the latter
None where frames follow one another, and then the starts end with the end of the last."""


class Lengths:
    """Payload lengths of records that follow each other; where all are equal, one number holds them."""

    def __init__(self, count: int, equal: int | None, starts: Uint64s | None) -> None:
        self.count = count
        self.equal = equal
        """The length of every record, or None where they differ."""
        self._starts = starts

    @classmethod
    def of(cls, parts: Sequence[NDArray[np.unsignedinteger]]) -> Lengths:
        """Join parts; they may have any unsigned type."""
        parts = [part for part in parts if len(part)]
        count = sum(map(len, parts))
        if not parts:
            return cls(0, 0, None)
        first = int(parts[0][0])
        if all(part.min() == part.max() == first for part in parts):
            return cls(count, first, None)
        # Cumulated in place: a large index is held once.
        starts = np.empty(count + 1, np.uint64)
        starts[0] = 0
        np.concatenate(parts, out=starts[1:])
        starts[1:] += np.uint64(FRAME_OVERHEAD)
        np.cumsum(starts[1:], out=starts[1:])
        return cls(count, None, starts)

    @property
    def stream_bytes(self) -> int:
        """Bytes of all frames together."""
        if self._starts is not None:
            return int(self._starts[-1])
        return self.count * ((self.equal or 0) + FRAME_OVERHEAD)

    def values(self) -> Uint64s:
        """The lengths, one for each record."""
        if self._starts is None:
            return np.full(self.count, self.equal or 0, np.uint64)
        return np.diff(self._starts) - np.uint64(FRAME_OVERHEAD)

    def first_above(self, limit: int) -> int | None:
        """Number of the first record that is longer than ``limit``, or None."""
        if self._starts is None:
            return 0 if self.count and (self.equal or 0) > limit else None
        for begin in range(0, self.count, _AT_ONCE):
            ends = self._starts[begin : begin + _AT_ONCE + 1]
            above = np.flatnonzero(np.diff(ends) > np.uint64(limit + FRAME_OVERHEAD))
            if len(above):
                return begin + int(above[0])
        return None

    def place(self, row: int) -> tuple[int, int]:
        """Where the frame of one record starts, and how long its payload is."""
        if not 0 <= row < self.count:
            raise IndexError(f"there are {self.count} records, found row {row}")
        if self._starts is not None:
            start = int(self._starts[row])
            return start, int(self._starts[row + 1]) - start - FRAME_OVERHEAD
        length = self.equal or 0
        return row * (length + FRAME_OVERHEAD), length

    def places(self, rows: NDArray[np.int64]) -> tuple[Uint64s, Uint64s]:
        """Where the frames of these records start, and how long their payloads are."""
        if len(rows) and not (rows.min() >= 0 and rows.max() < self.count):
            raise IndexError(f"there are {self.count} records, found rows {rows.min()} to {rows.max()}")
        if self._starts is not None:
            starts = self._starts[rows]
            return starts, self._starts[rows + 1] - starts - np.uint64(FRAME_OVERHEAD)
        length = self.equal or 0
        return rows.astype(np.uint64) * np.uint64(length + FRAME_OVERHEAD), np.full(len(rows), length, np.uint64)

    def layout(self) -> Layout:
        """Where all records are, for native readers."""
        return (self.count, self.equal or 0) if self._starts is None else (self._starts, None)


def narrowed(lengths: Uint64s) -> NDArray[np.unsignedinteger]:
    """The same lengths in half the memory, where they fit."""
    return lengths.astype(np.uint32) if not len(lengths) or lengths.max() < 1 << 32 else lengths
