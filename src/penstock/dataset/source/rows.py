"""Reads chosen rows of one file, by what the file allows: ranges, gzip members, or a pass from its start."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Protocol

import numpy as np

from penstock import _core
from penstock._core import RecordChunk
from penstock.compression.members import inflate_member
from penstock.damage import error_of
from penstock.dataset.order import Ints
from penstock.dataset.source.salvaged import SalvagedIndex
from penstock.dataset.source.shards import Reading
from penstock.errors import CompressionError, CorruptDataError
from penstock.files import locate
from penstock.files.local import LocalFiles
from penstock.index import Members, ShardIndex
from penstock.reader import RecordReader

_KEPT_MEMBER_BYTES = 64 << 20

# Requests to a remote store that wait side by side.
_REQUESTS = 16


class Rows(Protocol):
    """Chosen rows of one file."""

    def read(self, rows: Ints) -> list[RecordChunk]:
        """Read rows, named in ascending order, each once; raises at the first that is damaged, with its number."""


def open_rows(path: str, index: ShardIndex | SalvagedIndex, reading: Reading, window: int) -> Rows:
    """Open the rows of a file; ``window`` is how far apart those that are read at about the same time may be."""
    if not index.compression:
        return RangeRows(path, index, reading)
    if index.members is not None:
        return MemberRows(path, index.members, reading)
    return StreamRows(path, reading, window)


class RangeRows:
    """Rows of a plain file: those that follow one another are read as one range."""

    def __init__(self, path: str, index: ShardIndex | SalvagedIndex, reading: Reading) -> None:
        self._store, self._path = locate(path)
        self._index, self._reading = index, reading
        local = isinstance(self._store, LocalFiles)
        self._pool = None if local else ThreadPoolExecutor(_REQUESTS, "penstock-ranges")

    def read(self, rows: Ints) -> list[RecordChunk]:
        offsets, lengths = self._index.places(rows)
        ends = offsets + lengths + np.uint64(16)
        breaks = np.flatnonzero(offsets[1:] != ends[:-1]) + 1
        runs = [(int(run[0]), int(run[-1])) for run in np.split(np.arange(len(rows)), breaks)]
        ranges = [(int(offsets[first]), int(ends[last])) for first, last in runs]
        read = self._pool.map if self._pool is not None else map
        pieces = read(lambda span: self._store.read(self._path, *span), ranges)
        chunks: list[RecordChunk] = []
        for (first, last), (start, stop), data in zip(runs, ranges, pieces, strict=True):
            found = scan(data, self._path, self._reading, start, int(rows[first]), stop)
            if sum(map(len, found)) != last - first + 1:
                raise changed(self._path, int(rows[first]))
            chunks += found
        return chunks


class MemberRows:
    """Rows of a gzip file whose members start with a record; inflated members are kept for a while."""

    def __init__(self, path: str, members: Members, reading: Reading) -> None:
        self._store, self._path = locate(path)
        self._members, self._reading = members, reading
        self._kept: OrderedDict[int, list[RecordChunk]] = OrderedDict()
        self._kept_bytes = 0
        self._lock = Lock()

    def read(self, rows: Ints) -> list[RecordChunk]:
        chunks: list[RecordChunk] = []
        which = self._members.holding(rows)
        for number in np.unique(which).tolist():
            chunks += picked(self._member(number), rows[which == number])
        if sum(map(len, chunks)) != len(rows):
            raise changed(self._path, int(rows[0]))
        return chunks

    def _member(self, number: int) -> list[RecordChunk]:
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number]
        begin, end = map(int, self._members.file_offset[number : number + 2])
        record = int(self._members.first_record[number])
        plain = inflate_member(self._store.read(self._path, begin, end))
        if plain is None:
            raise CompressionError(
                f"a gzip member does not inflate: {self._path}, record {record}, byte {begin} of the file",
                path=self._path,
                offset=int(self._members.stream_offset[number]),
                stop=int(self._members.stream_offset[number + 1]),
                record=record,
                kind="inflate",
            )
        chunks = scan(plain, self._path, self._reading, int(self._members.stream_offset[number]), record)
        with self._lock:
            self._kept[number] = chunks
            self._kept_bytes += len(plain)
            while self._kept_bytes > _KEPT_MEMBER_BYTES and len(self._kept) > 1:
                oldest, _ = self._kept.popitem(last=False)
                size = self._members.stream_offset[oldest + 1] - self._members.stream_offset[oldest]
                self._kept_bytes -= int(size)
        return chunks


class StreamRows:
    """Rows of a file that is read from its start: going back starts again, so rows are asked for as they come."""

    def __init__(self, path: str, reading: Reading, window: int) -> None:
        self._reader = RecordReader(
            path,
            compression=reading.compression,
            verify=reading.verify,
            max_record_bytes=reading.max_record_bytes,
            threads=reading.threads,
        )
        self._window = window
        self._stream: Iterator[RecordChunk] = iter(())
        self._kept: deque[RecordChunk] = deque()
        self._next = 0
        """The row behind those that were read."""
        self._ended: CorruptDataError | None = None
        self._started = False
        self._lock = Lock()

    def read(self, rows: Ints) -> list[RecordChunk]:
        with self._lock:
            first, last = int(rows[0]), int(rows[-1])
            if not self._started or (first < self._next and not (self._kept and self._kept[0].first_record <= first)):
                self._stream, self._next, self._started = self._reader.chunks(), 0, True
                self._kept.clear()
            while self._next <= last:
                if self._ended is not None and self._ended.record is not None and self._ended.record <= last:
                    raise self._ended.with_traceback(None)
                self._advance(first)
            return picked(list(self._kept), rows)

    def _advance(self, first: int) -> None:
        try:
            chunk = next(self._stream)
        except CorruptDataError as error:
            self._ended = error
            raise
        except StopIteration:
            raise changed(self._reader.path, self._next) from None
        self._kept.append(chunk)
        self._next = chunk.first_record + len(chunk)
        while self._kept[0].first_record + len(self._kept[0]) <= min(first, self._next - self._window):
            self._kept.popleft()


def changed(path: str, record: int) -> CorruptDataError:
    """The error for a file that is not the one that was indexed."""
    return CorruptDataError(
        f"the file changed since it was indexed: {path}, record {record}", path=path, record=record, kind="changed"
    )


def scan(
    data: bytes, path: str, reading: Reading, offset: int, record: int, end: int | None = None
) -> list[RecordChunk]:
    """Find records in bytes that start with one; raise where one is damaged."""
    records = _core.StreamRecords(
        verify=reading.verify,
        max_record_bytes=reading.max_record_bytes,
        input_end=end,
        start_offset=offset,
        start_record=record,
        source=path,
    )
    chunks = []
    for event in (*records.feed(data), *records.finish()):
        if not isinstance(event, RecordChunk):
            raise error_of(event, path)
        chunks.append(event)
    return chunks


def picked(chunks: Sequence[RecordChunk], rows: Ints) -> list[RecordChunk]:
    """Cut out rows, named in ascending order; those that follow one another stay together."""
    pieces: list[RecordChunk] = []
    for chunk in chunks:
        begin, end = np.searchsorted(rows, [chunk.first_record, chunk.first_record + len(chunk)])
        mine = rows[begin:end] - chunk.first_record
        runs = np.split(mine, np.flatnonzero(np.diff(mine) != 1) + 1) if len(mine) else []
        pieces += [chunk[int(run[0]) : int(run[-1]) + 1] for run in runs]
    return pieces
