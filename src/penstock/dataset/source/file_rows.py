"""Reads chosen rows of one file: by byte range, by gzip member, or front to back, depending on its compression."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import Protocol

import numpy as np

from penstock import _core
from penstock._core import RecordChunk
from penstock.compression.byte_source import ByteSource
from penstock.compression.gzip import inflate_member, inflate_next_member
from penstock.compression.restart_points import WINDOW_BYTES
from penstock.dataset.order import Ints
from penstock.dataset.source.array_record import ArrayRecordRows
from penstock.dataset.source.pick_records import (
    PendingRecords,
    PickedRecords,
    ScannedRecords,
    changed_file,
    scan,
    slice_chunks,
)
from penstock.dataset.source.shards import AnyIndex, SalvagedIndex
from penstock.errors import CompressionError, CorruptDataError
from penstock.index import Members, ShardIndex, renew_index
from penstock.index.array_record import ArrayRecordIndex
from penstock.index.shard_index import Restarts, Uint64s
from penstock.records.read_options import OnDamage, ReadOptions
from penstock.records.reader import RecordReader
from penstock.storage import locate

# For all files of a dataset.
_MEMBER_CACHE_BYTES = 64 << 20
# More than an estimate of the compressed bytes that a record takes.
_GUESSED_BYTES = 32 << 10
# Rows of a remote file at most this far apart share a request: reading the gap is faster than another request.
_MAX_GAP_BYTES = 64 << 10


class FileRows(Protocol):
    """Chosen rows of one file."""

    def request(self, rows: Ints) -> PendingRecords:
        """Request rows, in ascending order and without duplicates; requests to remote stores start at once."""


class MemberCache:
    """LRU cache of the inflated gzip members of many files. Thread-safe."""

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[str, int], tuple[ScannedRecords, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, path: str, number: int) -> ScannedRecords | None:
        """Return a member, or None if it is not cached."""
        with self._lock:
            if (path, number) not in self._cached:
                return None
            self._cached.move_to_end((path, number))
            return self._cached[path, number][0]

    def put(self, path: str, number: int, member: ScannedRecords, size: int) -> None:
        """Add a member and evict the least recently used ones above the size limit."""
        with self._lock:
            if (path, number) not in self._cached:  # another thread may have added it
                self._cached[path, number] = member, size
                self._bytes += size
            while self._bytes > _MEMBER_CACHE_BYTES and len(self._cached) > 1:
                _, (_, evicted) = self._cached.popitem(last=False)
                self._bytes -= evicted


def open_rows(
    path: str,
    index: AnyIndex,
    options: ReadOptions,
    window: int,
    members: MemberCache,
    requests: Executor | None,
) -> FileRows:
    """Open the rows of a file.

    In a file that is read front to back, the ``window`` rows before the latest one can still be requested. All files
    share ``members``, the cache, and ``requests``, which runs concurrent requests to a remote store.
    """
    if isinstance(index, ArrayRecordIndex):
        return ArrayRecordRows(index, options)
    if not index.compression:
        return RangeRows(path, index, options, requests)
    if isinstance(index, ShardIndex) and index.members is not None:
        return MemberRows(path, index.members, options, members)
    if isinstance(index, ShardIndex) and index.restarts is not None:
        return RestartRows(path, index, index.restarts, options, members)
    return StreamRows(path, index, options, window)


def _record_numbers(index: ShardIndex | SalvagedIndex, rows: Ints) -> Ints:
    return index.numbers(rows) if isinstance(index, SalvagedIndex) else rows


class RangeRows:
    """Rows of a plain file. Adjacent rows are read as one range; so are nearby rows of a remote file."""

    def __init__(
        self, path: str, index: ShardIndex | SalvagedIndex, options: ReadOptions, requests: Executor | None
    ) -> None:
        self._store, self._path = locate(path)
        self._index, self._options = index, options
        remote = requests if self._store.capabilities.latency == "network" else None
        self._map: Callable[..., Iterator[bytes]] = map if remote is None else remote.map
        # Where damage is skipped, damage between two rows must not affect them.
        self._max_gap = 0 if remote is None or options.skips_damage else _MAX_GAP_BYTES

    def request(self, rows: Ints) -> PendingRecords:
        offsets, lengths = self._index.locations(rows)
        numbers = _record_numbers(self._index, rows)
        ends = offsets + lengths + np.uint64(16)
        breaks = np.flatnonzero(offsets[1:] - ends[:-1] > self._max_gap) + 1
        runs = [(int(run[0]), int(run[-1])) for run in np.split(np.arange(len(rows)), breaks)]
        ranges = [(int(offsets[first]), int(ends[last])) for first, last in runs]
        pieces = self._map(lambda span: self._store.read(self._path, *span), ranges)

        def result() -> PickedRecords:
            parts = []
            for (first, last), span, data in zip(runs, ranges, pieces, strict=True):
                part = slice(first, last + 1)
                parts.append(self._pick(memoryview(data), span, numbers[part], offsets[part], lengths[part]))
            return PickedRecords.concat(parts)

        return result

    def _pick(
        self, data: memoryview, span: tuple[int, int], numbers: Ints, offsets: Uint64s, lengths: Uint64s
    ) -> PickedRecords:
        """Cut records out of a range; after one that differs from the index, scan again at the offset of the next."""
        start, stop = span
        parts: list[PickedRecords] = []
        first = 0
        while first < len(numbers):
            rest, offset = numbers[first:], int(offsets[first])
            found = scan(data[offset - start :], self._path, self._options, offset, int(rest[0]), stop)
            picked = found.pick(rest)
            missing = [error.record or 0 for error in picked.errors]
            present = ~np.isin(rest, missing)
            sizes = np.concatenate([np.zeros(0, np.uint64), *(chunk.spans[:, 1] for chunk in picked.chunks)])
            bad = [number for number, error in zip(missing, picked.errors, strict=True) if error.kind != "data-crc"][:1]
            bad += rest[present][sizes != lengths[first:][present]][:1].tolist()
            if not bad:
                parts.append(picked)
                break
            number, at = min(bad), int(np.searchsorted(rest, min(bad)))
            before = [error for lost, error in zip(missing, picked.errors, strict=True) if lost < number]
            error = picked.errors[len(before)] if number in missing else changed_file(self._path, number)
            if error.kind.startswith("truncated") and len(data) == stop - start:
                error = changed_file(self._path, number)  # the file does not end where the index says
            if error.kind in ("changed", "length-crc") and self._index_was_stale:
                error = changed_file(self._path, number, "; its index was rebuilt: open the dataset again")
            parts.append(PickedRecords(slice_chunks(picked.chunks, 0, int(present[:at].sum())), [*before, error]))
            if not self._options.skips_damage:
                break  # the first error is raised
            first += at + 1
        return PickedRecords.concat(parts)

    @cached_property
    def _index_was_stale(self) -> bool:
        """Whether the file is intact but changed after it was indexed: its identity covers only both ends."""
        options = replace(self._options, threads=None)
        return self._store.capabilities.native_paths and renew_index(self._path, options)


class MemberRows:
    """Rows of a gzip file each of whose members starts with a record; inflated members are cached."""

    _members: Members | Restarts

    def __init__(self, path: str, members: Members | Restarts, options: ReadOptions, cache: MemberCache) -> None:
        self._store, self._path = locate(path)
        self._members, self._options, self._cache = members, options, cache

    def request(self, rows: Ints) -> PendingRecords:
        return lambda: self._read(rows)

    def _read(self, rows: Ints) -> PickedRecords:
        return PickedRecords.concat(
            self._member(self._member_of(part)).pick(part) for part in self.split_by_member(rows)
        )

    def split_by_member(self, rows: Ints) -> list[Ints]:
        """Split ascending rows into those of each member."""
        return np.split(rows, np.flatnonzero(np.diff(self._members.holding(rows))) + 1)

    def copy_from_member(self, rows: Ints) -> RecordChunk:
        """Copy rows of one member without caching it."""
        return self._inflate(self._member_of(rows)).copy(rows)

    def _member_of(self, rows: Ints) -> int:
        return int(self._members.holding(rows[:1])[0])

    def _member(self, number: int) -> ScannedRecords:
        found = self._cache.get(self._path, number)
        if found is None:
            found = self._inflate(number)
            self._cache.put(self._path, number, found, self._size(number))
        return found

    def _size(self, number: int) -> int:
        return int(self._members.stream_offset[number + 1] - self._members.stream_offset[number])

    def _inflate(self, number: int) -> ScannedRecords:
        assert isinstance(self._members, Members)
        begin, end = map(int, self._members.file_offset[number : number + 2])
        offset, record = int(self._members.stream_offset[number]), int(self._members.first_record[number])
        data = self._store.read(self._path, begin, end)
        plain = inflate_member(data)
        if plain is not None:
            return scan(plain, self._path, self._options, offset, record)
        if self._options.skips_damage:
            start = _inflate_until_damage(data, self._path, self._size(number))
            path, chunks, damage = scan(start, self._path, self._options, offset, record)
            record += sum(map(len, chunks)) + sum(error.kind == "data-crc" for error in damage)
        error = CompressionError(
            f"a gzip member cannot be inflated: {self._path}, record {record}, byte {begin} of the file",
            path=self._path,
            offset=offset,
            stop=offset + self._size(number),
            record=record,
            kind="inflate",
        )
        if not self._options.skips_damage:
            raise error
        return ScannedRecords(path, chunks, [*(found for found in damage if found.kind == "data-crc"), error])


class RestartRows(MemberRows):
    """Rows of a compressed file that is inflated from restart points.

    The index is a hint: where what it leads to are not the expected records, the file is read from its start.
    """

    def __init__(
        self, path: str, index: ShardIndex, restarts: Restarts, options: ReadOptions, cache: MemberCache
    ) -> None:
        super().__init__(path, restarts, options, cache)
        self._restarts, self._gzip = restarts, index.compression == "GZIP"
        self._file_bytes = index.identity.size
        self._from_start = StreamRows(path, index, options, 0)

    def _read(self, rows: Ints) -> PickedRecords:
        picked = super()._read(rows)
        return self._from_start.request(rows)() if picked.errors else picked

    def _inflate(self, number: int) -> ScannedRecords:
        offset, end = map(int, self._restarts.stream_offset[number : number + 2])
        record, stop = map(int, self._restarts.first_record[number : number + 2])
        plain = self._inflate_from(number, offset, end)
        if plain is not None:
            found = scan(plain, self._path, self._options, offset, record)
            if not found.damage and sum(map(len, found.chunks)) == stop - record:
                return found
        return ScannedRecords(self._path, [], [])

    def _inflate_from(self, number: int, offset: int, end: int) -> _core.InflatedPiece | None:
        """Inflate a part of the uncompressed stream from a restart point; return None if that fails."""
        restarts = self._restarts
        block, bits = int(restarts.block_offset[number]), int(restarts.bits[number])
        window = _inflate_window(restarts.windows[number])
        if window is None:
            return None
        for stop in self._places_to_stop(number, end):
            data = self._store.read(self._path, bits // 8, stop)
            plain, needs_input = _core.inflate_from(
                data, bits % 8, window, gzip=self._gzip, skip=offset - block, size=end - offset
            )
            if not needs_input:
                return plain
        return None

    def _places_to_stop(self, number: int, end: int) -> Iterator[int]:
        """Yield where to stop reading the file: a guess, the next restart point after the part, and its end."""
        bits, blocks = self._restarts.bits, self._restarts.block_offset
        after = int(np.searchsorted(blocks, np.uint64(end)))
        known = self._file_bytes if after == len(bits) else min(self._file_bytes, int(bits[after]) // 8 + 1)
        if number + 1 < after:
            # The last record extends over the next restart point.
            last = int(bits[after - 1]) // 8 + 1
            over = end - int(blocks[after - 1])
            rate = (last - int(bits[number]) // 8) / (int(blocks[after - 1]) - int(blocks[number]))
            yield min(known, last + int(over * rate) + _GUESSED_BYTES)
        yield known
        yield self._file_bytes


def _inflate_window(packed: bytes) -> bytes | None:
    """Inflate the window of a restart point; return None if it is damaged or too large."""
    if not packed:
        return b""
    inflater = _core.StreamInflater()
    inflater.feed(packed)
    window = bytes(inflater.next())
    return window if inflater.done and len(window) <= WINDOW_BYTES else None


def _inflate_until_damage(member: bytes, path: str, max_bytes: int) -> bytes:
    """Inflate a damaged member up to the damage, and at most to the size in its index."""
    plain = bytearray()
    try:
        for piece in inflate_next_member(ByteSource([member], path)):
            plain += piece
            if len(plain) >= max_bytes:
                break
    except CorruptDataError:
        pass  # only what comes before the damage is wanted
    return bytes(plain)


class StreamRows:
    """Rows of a file that is read front to back: going back means starting again, so request rows in order."""

    def __init__(self, path: str, index: ShardIndex | SalvagedIndex, options: ReadOptions, window: int) -> None:
        salvaged = isinstance(index, SalvagedIndex)
        on_damage: OnDamage = "skip" if salvaged else "skip_record" if options.skips_damage else "raise"
        self._reader = RecordReader._with_options(path, replace(options, on_damage=on_damage))
        self._index, self._window = index, window
        self._stream: Iterator[RecordChunk] | None = None
        self._chunks: deque[RecordChunk] = deque()
        self._next = 0
        """The number of the next record to read."""
        self._end: list[CorruptDataError] | None = None
        """Set at the end of the file: the error that ended it, if any."""
        self._lock = Lock()

    def request(self, rows: Ints) -> PendingRecords:
        return lambda: self._read(rows)

    def _read(self, rows: Ints) -> PickedRecords:
        with self._lock:
            numbers = _record_numbers(self._index, rows)
            first, last = int(numbers[0]), int(numbers[-1])
            goes_back = first < self._next and not (self._chunks and self._chunks[0].first_record <= first)
            if self._stream is None or goes_back:
                self._stream, self._next, self._end = self._reader.chunks(), 0, None
                self._chunks.clear()
            while self._next <= last and self._end is None:
                self._advance(self._stream, first)
            damage = [*self._reader.damage, *(self._end or ())]
            return ScannedRecords(self._reader.path, self._chunks, damage).pick(numbers)

    def _advance(self, stream: Iterator[RecordChunk], first: int) -> None:
        try:
            chunk = next(stream)
        except CorruptDataError as error:
            self._end = [error]
        except StopIteration:
            self._end = []
        else:
            self._chunks.append(chunk)
            self._next = chunk.first_record + len(chunk)
            oldest = min(first, self._next - self._window)
            while self._chunks and self._chunks[0].first_record + len(self._chunks[0]) <= oldest:
                self._chunks.popleft()
