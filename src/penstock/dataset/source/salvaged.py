"""An index of what is left of a damaged file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.compression import Compression
from penstock.dataset.order import Ints
from penstock.errors import CorruptDataError
from penstock.files import locate
from penstock.index.build import compression_of
from penstock.index.lengths import Layout, Uint64s
from penstock.reader import RecordReader


@dataclass(frozen=True, eq=False)
class SalvagedIndex:
    """Where the records outside the damage are. It is not kept: a repaired copy is the better thing to keep."""

    compression: Compression
    damage: tuple[CorruptDataError, ...]
    _starts: Uint64s
    _lengths: Uint64s
    _numbers: Ints

    members = None

    @property
    def records(self) -> int:
        """How many records are left."""
        return len(self._starts)

    @property
    def seekable(self) -> bool:
        """Whether a record can be read without reading all that come before it."""
        return not self.compression

    def places(self, rows: Ints) -> tuple[Uint64s, Uint64s]:
        """Where the frames of these records start, and how long their payloads are."""
        return self._starts[rows], self._lengths[rows]

    def layout(self) -> Layout:
        """Where all records are, for native readers."""
        return self._starts, self._lengths

    def numbers(self, rows: Ints) -> Ints:
        """The numbers that these records have in the file, where those that are damaged count, too."""
        return self._numbers[rows]

    def row_of(self, number: int) -> int | None:
        """Which of the records that are left has a number in the file."""
        row = int(np.searchsorted(self._numbers, number))
        return row if row < len(self._numbers) and self._numbers[row] == number else None


def records_in(damage: CorruptDataError) -> int | None:
    """Answer how many records a damaged place held; None where nobody knows."""
    return damage.records if damage.kind == "doubtful" else 1 if damage.kind == "data-crc" else None


def salvage_index(
    path: str, compression: str, max_record_bytes: int, *, verify: bool, nested: bool | None
) -> SalvagedIndex:
    """Walk a damaged file for what is left of it.

    The payloads of a plain file are checked when they are read. A compressed one is read from its start each time, and
    has to have the same records left then: they are checked now, where they will be.
    """
    store, name = locate(path)
    kind = compression_of(store, name, compression)
    reader = RecordReader(
        path,
        compression=compression,
        verify=verify and bool(kind),
        on_error="skip",
        nested=nested,
        max_record_bytes=max_record_bytes,
    )
    starts, lengths = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
    numbers = [np.zeros(0, np.int64)]
    for chunk in reader.chunks():
        spans = chunk.spans
        # The payload's place in the buffer and in the file differ by the same number for a whole chunk.
        starts.append(spans[:, 0] - spans[0, 0] + np.uint64(chunk.frame_offset(0)))
        lengths.append(spans[:, 1].copy())
        numbers.append(np.arange(chunk.first_record, chunk.first_record + len(chunk)))
    return SalvagedIndex(
        kind, tuple(reader.damage), np.concatenate(starts), np.concatenate(lengths), np.concatenate(numbers)
    )
