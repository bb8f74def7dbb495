"""Reads chosen rows of ArrayRecord files."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from penstock import _core
from penstock.dataset.order import Ints
from penstock.dataset.source.pick_records import PendingRecords, PickedRecords
from penstock.dataset.source.shards import Shards
from penstock.errors import CorruptDataError, RecordTooLargeError
from penstock.index.array_record import ArrayRecordIndex, OpenReaders
from penstock.records.read_options import ReadOptions


class ArrayRecordShards(Shards):
    """ArrayRecord files whose rows are numbered consecutively. The files hold where their records are."""

    is_tfrecord = False
    local_and_plain = False  # the native reader of frames is not for them
    local_members = False
    stored_restarts = False
    has_byte_ranges = True

    def __init__(self, paths: tuple[str, ...], options: ReadOptions, counts: tuple[int, ...] | None = None) -> None:
        super().__init__(paths, options, counts)
        self._readers = OpenReaders()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.paths, self.options, self._manifest_counts)

    def _open_index(self, path: str) -> ArrayRecordIndex:
        return ArrayRecordIndex(path, self._readers)


class ArrayRecordRows:
    """Rows of one file. They are read at once; where that fails, one by one."""

    def __init__(self, index: ArrayRecordIndex, options: ReadOptions) -> None:
        self._index, self._options = index, options

    def request(self, rows: Ints) -> PendingRecords:
        """Request rows, in ascending order and without duplicates."""
        return lambda: self._read(rows)

    def _read(self, rows: Ints) -> PickedRecords:
        try:
            return self._chunks(rows, self._index.read(rows.tolist()))
        except CorruptDataError:
            found = PickedRecords([], [])
        for row in np.split(rows, len(rows)):
            try:
                found.chunks.extend(self._chunks(row, self._index.read(row.tolist())).chunks)
            except CorruptDataError as error:
                found.errors.append(error.with_traceback(None))
                if not self._options.skips_damage:
                    break  # the first error is raised
        return found

    def _chunks(self, rows: Ints, records: list[bytes]) -> PickedRecords:
        """Copy records into chunks of consecutive ones, so that an error has the number of its record."""
        path, limit = self._index.path, self._options.max_record_bytes
        for row, record in zip(rows.tolist(), records, strict=True):
            if len(record) > limit:
                raise RecordTooLargeError(
                    f"the record has {len(record)} bytes, more than max_record_bytes allows: {path}, record {row}",
                    path=path,
                    record=row,
                    kind="too-large",
                )
        bounds = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), len(rows)]
        return PickedRecords(
            [_core.chunk_from_records(records[start:stop], path, int(rows[start])) for start, stop in pairwise(bounds)],
            [],
        )
