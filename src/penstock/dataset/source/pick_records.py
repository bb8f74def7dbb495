"""Finds records and damage in bytes and cuts chosen records out of them, with an error for each that is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from penstock import _core
from penstock._core import RecordChunk
from penstock.compression import Plain
from penstock.dataset.order import Ints
from penstock.errors import CorruptDataError
from penstock.records.damage import error_of
from penstock.records.read_options import ReadOptions


class PickedRecords(NamedTuple):
    """Chosen records, in order, and an error for each that is missing."""

    chunks: list[RecordChunk]
    errors: list[CorruptDataError]

    @classmethod
    def concat(cls, parts: Iterable[PickedRecords]) -> PickedRecords:
        """Concatenate parts."""
        picked = cls([], [])
        for part in parts:
            picked.chunks.extend(part.chunks)
            picked.errors.extend(part.errors)
        return picked

    def complete(self) -> list[RecordChunk]:
        """Return the records; raise the first error if one is missing."""
        if self.errors:
            raise self.errors[0]
        return self.chunks


PendingRecords: TypeAlias = Callable[[], PickedRecords]
"""Waits for requested rows and returns them."""


class ScannedRecords(NamedTuple):
    """Records and damage of a file, both in order."""

    path: str
    chunks: Iterable[RecordChunk]
    damage: Sequence[CorruptDataError]

    def pick(self, numbers: Ints) -> PickedRecords:
        """Return records by number, in ascending order."""
        pieces: list[RecordChunk] = []
        missing = np.ones(len(numbers), np.bool_)
        for chunk in self.chunks:
            begin, end = np.searchsorted(numbers, [chunk.first_record, chunk.first_record + len(chunk)])
            within = numbers[begin:end] - chunk.first_record
            runs = np.split(within, np.flatnonzero(np.diff(within) != 1) + 1) if len(within) else []
            pieces += [chunk[int(run[0]) : int(run[-1]) + 1] for run in runs]
            missing[begin:end] = False
        errors = {error.record: error for error in reversed(self.damage)} if missing.any() else {}
        return PickedRecords(pieces, [self._error_of(number, errors) for number in numbers[missing].tolist()])

    def copy(self, numbers: Ints) -> RecordChunk:
        """Copy records, by ascending number, into a new chunk; raise if one is missing."""
        chunks = list(self.chunks)
        records = _core.RecordPool(chunks)
        first = chunks[0].first_record if chunks else 0
        if self.damage or int(numbers[0]) < first or int(numbers[-1]) >= first + len(records):
            return _core.RecordPool(self.pick(numbers).complete()).take(np.arange(len(numbers)))
        return records.take(numbers - first)

    def _error_of(self, number: int, errors: dict[int | None, CorruptDataError]) -> CorruptDataError:
        """Return the error of a missing record: its own, or that of the damage after which nothing was read."""
        if number in errors:
            return errors[number].with_traceback(None)
        last = self.damage[-1] if self.damage else None
        if last is None or last.record is None or last.record > number:
            return changed_file(self.path, number)
        return type(last)(
            f"record {number} is lost because of damage before it: {last}",
            path=self.path,
            offset=last.offset,
            record=number,
            kind=last.kind,
        )


def scan(
    data: Plain | memoryview, path: str, options: ReadOptions, offset: int, record: int, end: int | None = None
) -> ScannedRecords:
    """Scan bytes that start with a record."""
    records = _core.StreamRecords(
        verify=options.verify,
        max_record_bytes=options.max_record_bytes,
        input_end=end,
        start_offset=offset,
        start_record=record,
        source=path,
    )
    chunks: list[RecordChunk] = []
    damage: list[CorruptDataError] = []
    for event in (*records.feed(data), *records.finish()):
        if isinstance(event, RecordChunk):
            chunks.append(event)
        else:
            damage.append(error_of(event, path))
    return ScannedRecords(path, chunks, damage)


def slice_chunks(chunks: Iterable[RecordChunk], start: int, stop: int) -> list[RecordChunk]:
    """Return a range of the records of chunks."""
    pieces = []
    for chunk in chunks:
        if start < len(chunk) and stop > 0:
            pieces.append(chunk[max(0, start) : stop])
        start, stop = start - len(chunk), stop - len(chunk)
    return pieces


def changed_file(path: str, record: int, advice: str = "") -> CorruptDataError:
    """Return the error for a file that changed after it was indexed."""
    return CorruptDataError(
        f"the file changed since it was indexed: {path}, record {record}{advice}",
        path=path,
        record=record,
        kind="changed",
    )
