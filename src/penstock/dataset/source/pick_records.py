"""Records found in bytes, and the damage among them; chosen rows are cut out, and one that is lost is told by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from penstock import _core
from penstock._core import RecordChunk
from penstock.compression import Plain
from penstock.dataset.order import Ints
from penstock.errors import CorruptDataError
from penstock.records.damage import error_of
from penstock.records.read_options import ReadOptions


class PickedRecords(NamedTuple):
    """Chosen records, in order, and an error for each that is not there."""

    chunks: list[RecordChunk]
    errors: list[CorruptDataError]

    @classmethod
    def of_all(cls, parts: Iterable[PickedRecords]) -> PickedRecords:
        """Join parts that follow one another."""
        picked = cls([], [])
        for part in parts:
            picked.chunks.extend(part.chunks)
            picked.errors.extend(part.errors)
        return picked

    def sound(self) -> list[RecordChunk]:
        """Return the records; raise where one is not there."""
        if self.errors:
            raise self.errors[0]
        return self.chunks


class ScannedRecords(NamedTuple):
    """Records of a file, and what is damaged of it, both in order."""

    path: str
    chunks: Iterable[RecordChunk]
    damage: Sequence[CorruptDataError]

    def pick(self, numbers: Ints) -> PickedRecords:
        """Cut out records, named in ascending order."""
        pieces: list[RecordChunk] = []
        lost = np.ones(len(numbers), np.bool_)
        for chunk in self.chunks:
            begin, end = np.searchsorted(numbers, [chunk.first_record, chunk.first_record + len(chunk)])
            mine = numbers[begin:end] - chunk.first_record
            runs = np.split(mine, np.flatnonzero(np.diff(mine) != 1) + 1) if len(mine) else []
            pieces += [chunk[int(run[0]) : int(run[-1]) + 1] for run in runs]
            lost[begin:end] = False
        own = {error.record: error for error in reversed(self.damage)} if lost.any() else {}
        return PickedRecords(pieces, [self._error_of(number, own) for number in numbers[lost].tolist()])

    def copy(self, numbers: Ints) -> RecordChunk:
        """Copy records, named in ascending order, into a chunk of their own; raise where one is not there."""
        chunks = list(self.chunks)
        records = _core.RecordPool(chunks)
        first = chunks[0].first_record if chunks else 0
        if self.damage or int(numbers[0]) < first or int(numbers[-1]) >= first + len(records):
            return _core.RecordPool(self.pick(numbers).sound()).take(np.arange(len(numbers)))
        return records.take(numbers - first)

    def _error_of(self, number: int, own: dict[int | None, CorruptDataError]) -> CorruptDataError:
        """The error for a record that was not found: its own, or that of the damage which nothing was read behind."""
        if number in own:
            return own[number].with_traceback(None)
        last = self.damage[-1] if self.damage else None
        if last is None or last.record is None or last.record > number:
            return changed(self.path, number)
        return type(last)(
            f"record {number} is lost with what is before it: {last}",
            path=self.path,
            offset=last.offset,
            record=number,
            kind=last.kind,
        )


def scan(
    data: Plain | memoryview, path: str, reading: ReadOptions, offset: int, record: int, end: int | None = None
) -> ScannedRecords:
    """Find records in bytes that start with one."""
    records = _core.StreamRecords(
        verify=reading.verify,
        max_record_bytes=reading.max_record_bytes,
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


def cut(chunks: Iterable[RecordChunk], start: int, stop: int) -> list[RecordChunk]:
    """Cut a range out of the records of chunks."""
    pieces = []
    for chunk in chunks:
        if start < len(chunk) and stop > 0:
            pieces.append(chunk[max(0, start) : stop])
        start, stop = start - len(chunk), stop - len(chunk)
    return pieces


def changed(path: str, record: int, advice: str = "") -> CorruptDataError:
    """The error for a file that is not the one that was indexed."""
    return CorruptDataError(
        f"the file changed since it was indexed: {path}, record {record}{advice}",
        path=path,
        record=record,
        kind="changed",
    )
