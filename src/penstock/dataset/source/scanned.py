"""Records found in bytes, and the damage among them; chosen rows are cut out, and one that is lost is told by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from penstock import _core
from penstock._core import RecordChunk
from penstock.compression import Plain
from penstock.damage import error_of
from penstock.dataset.order import Ints
from penstock.dataset.source.shards import Reading
from penstock.errors import CorruptDataError


class Scanned(NamedTuple):
    """Records of a file, and what is damaged of it, both in order."""

    path: str
    chunks: Iterable[RecordChunk]
    damage: Sequence[CorruptDataError]

    def pick(self, numbers: Ints) -> list[RecordChunk]:
        """Cut out records, named in ascending order; raise for the first that is not there."""
        pieces: list[RecordChunk] = []
        lost = np.ones(len(numbers), np.bool_)
        for chunk in self.chunks:
            begin, end = np.searchsorted(numbers, [chunk.first_record, chunk.first_record + len(chunk)])
            mine = numbers[begin:end] - chunk.first_record
            runs = np.split(mine, np.flatnonzero(np.diff(mine) != 1) + 1) if len(mine) else []
            pieces += [chunk[int(run[0]) : int(run[-1]) + 1] for run in runs]
            lost[begin:end] = False
        if lost.any():
            raise self._error_of(int(numbers[lost][0]))
        return pieces

    def _error_of(self, number: int) -> CorruptDataError:
        """The error for a record that was not found: its own, or that of the damage which nothing was read behind."""
        for error in self.damage:
            if error.record == number:
                return error.with_traceback(None)
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


def scan(data: Plain, path: str, reading: Reading, offset: int, record: int, end: int | None = None) -> Scanned:
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
    return Scanned(path, chunks, damage)


def changed(path: str, record: int) -> CorruptDataError:
    """The error for a file that is not the one that was indexed."""
    return CorruptDataError(
        f"the file changed since it was indexed: {path}, record {record}", path=path, record=record, kind="changed"
    )
