"""Reads chosen rows of one file, by what the file allows: ranges, gzip members, or a pass from its start."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import cached_property
from threading import Lock
from typing import Protocol, TypeAlias

import numpy as np

from penstock._core import RecordChunk
from penstock.compression.byte_source import ByteSource
from penstock.compression.gzip import inflate_member, inflate_next_member
from penstock.dataset.order import Ints
from penstock.dataset.source.pick_records import PickedRecords, ScannedRecords, changed, cut, scan
from penstock.dataset.source.shards import Reading, SalvagedIndex
from penstock.errors import CompressionError, CorruptDataError
from penstock.index import Members, ShardIndex, renew_index
from penstock.index.shard_index import Uint64s
from penstock.records.reader import RecordReader
from penstock.storage import locate

# Of all files of a dataset together.
_KEPT_MEMBER_BYTES = 64 << 20
# Bytes between two rows of a remote file that are read along: a request of its own takes longer.
_NEAR = 64 << 10
FetchedRecords: TypeAlias = Callable[[], PickedRecords]
"""Waits for rows that were asked for."""


class FileRows(Protocol):
    """Chosen rows of one file."""

    def ask(self, rows: Ints) -> FetchedRecords:
        """Ask for rows, named in ascending order, each once; what is remote is on its way when this returns."""


class MemberCache:
    """Inflated gzip members of many files: those that were used last. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int], tuple[ScannedRecords, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, path: str, number: int) -> ScannedRecords | None:
        """Return a member, where it is kept."""
        with self._lock:
            if (path, number) not in self._kept:
                return None
            self._kept.move_to_end((path, number))
            return self._kept[path, number][0]

    def put(self, path: str, number: int, member: ScannedRecords, size: int) -> None:
        """Keep a member, and let go of others where there are too many."""
        with self._lock:
            if (path, number) not in self._kept:  # another thread may have been at the same one
                self._kept[path, number] = member, size
                self._bytes += size
            while self._bytes > _KEPT_MEMBER_BYTES and len(self._kept) > 1:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._bytes -= oldest


def open_rows(
    path: str,
    index: ShardIndex | SalvagedIndex,
    reading: Reading,
    window: int,
    members: MemberCache,
    requests: Executor | None,
) -> FileRows:
    """Open the rows of a file; ``window`` is how far apart those that are read at about the same time may be.

    ``members`` are kept for all files; ``requests`` runs those to a remote store, side by side.
    """
    if not index.compression:
        return RangeRows(path, index, reading, requests)
    if index.members is not None:
        return MemberRows(path, index.members, reading, members)
    return StreamRows(path, index, reading, window)


def _numbers_of(index: ShardIndex | SalvagedIndex, rows: Ints) -> Ints:
    return index.numbers(rows) if isinstance(index, SalvagedIndex) else rows


class RangeRows:
    """Rows of a plain file: those that follow one another are read as one range, in a remote file those nearby, too."""

    def __init__(
        self, path: str, index: ShardIndex | SalvagedIndex, reading: Reading, requests: Executor | None
    ) -> None:
        self._store, self._path = locate(path)
        self._index, self._reading = index, reading
        remote = requests if self._store.capabilities.latency == "network" else None
        self._map: Callable[..., Iterator[bytes]] = map if remote is None else remote.map
        # Damage between two rows is no business of theirs, where it is passed over.
        self._near = 0 if remote is None or reading.salvage else _NEAR

    def ask(self, rows: Ints) -> FetchedRecords:
        offsets, lengths = self._index.places(rows)
        numbers = _numbers_of(self._index, rows)
        ends = offsets + lengths + np.uint64(16)
        breaks = np.flatnonzero(offsets[1:] - ends[:-1] > self._near) + 1
        runs = [(int(run[0]), int(run[-1])) for run in np.split(np.arange(len(rows)), breaks)]
        ranges = [(int(offsets[first]), int(ends[last])) for first, last in runs]
        pieces = self._map(lambda span: self._store.read(self._path, *span), ranges)

        def answer() -> PickedRecords:
            parts = []
            for (first, last), span, data in zip(runs, ranges, pieces, strict=True):
                mine = slice(first, last + 1)
                parts.append(self._pick(memoryview(data), span, numbers[mine], offsets[mine], lengths[mine]))
            return PickedRecords.of_all(parts)

        return answer

    def _pick(
        self, data: memoryview, span: tuple[int, int], numbers: Ints, offsets: Uint64s, lengths: Uint64s
    ) -> PickedRecords:
        """Cut records out of a range; behind one that is not what the index says, the next is read in its own place."""
        start, stop = span
        parts: list[PickedRecords] = []
        first = 0
        while first < len(numbers):
            rest, offset = numbers[first:], int(offsets[first])
            found = scan(data[offset - start :], self._path, self._reading, offset, int(rest[0]), stop)
            picked = found.pick(rest)
            lost = [error.record or 0 for error in picked.errors]
            there = ~np.isin(rest, lost)
            sizes = np.concatenate([np.zeros(0, np.uint64), *(chunk.spans[:, 1] for chunk in picked.chunks)])
            ends = [number for number, error in zip(lost, picked.errors, strict=True) if error.kind != "data-crc"][:1]
            ends += rest[there][sizes != lengths[first:][there]][:1].tolist()
            if not ends:
                parts.append(picked)
                break
            end, place = min(ends), int(np.searchsorted(rest, min(ends)))
            before = [error for number, error in zip(lost, picked.errors, strict=True) if number < end]
            wrong = picked.errors[len(before)] if end in lost else changed(self._path, end)
            if wrong.kind.startswith("truncated") and len(data) == stop - start:
                wrong = changed(self._path, end)  # the file goes on behind what the index says
            if wrong.kind in ("changed", "length-crc") and self._index_was_stale:
                wrong = changed(self._path, end, "; it has been indexed anew: open it again")
            parts.append(PickedRecords(cut(picked.chunks, 0, int(there[:place].sum())), [*before, wrong]))
            if not self._reading.salvage:
                break  # one is enough: it will be raised
            first += place + 1
        return PickedRecords.of_all(parts)

    @cached_property
    def _index_was_stale(self) -> bool:
        """Whether the file is sound, but not the one that was indexed: an identity looks at both ends alone."""
        reading = self._reading
        return self._store.capabilities.native_paths and renew_index(
            self._path,
            compression=reading.compression,
            where=reading.index,
            max_record_bytes=reading.max_record_bytes,
        )


class MemberRows:
    """Rows of a gzip file whose members start with a record; inflated members are kept for a while."""

    def __init__(self, path: str, members: Members, reading: Reading, kept: MemberCache) -> None:
        self._store, self._path = locate(path)
        self._members, self._reading, self._kept = members, reading, kept

    def ask(self, rows: Ints) -> FetchedRecords:
        return lambda: self._read(rows)

    def _read(self, rows: Ints) -> PickedRecords:
        return PickedRecords.of_all(self._member(self._holding(some)).pick(some) for some in self.by_member(rows))

    def by_member(self, rows: Ints) -> list[Ints]:
        """Divide rows, named in ascending order, into those of each member."""
        return np.split(rows, np.flatnonzero(np.diff(self._members.holding(rows))) + 1)

    def copy_of_member(self, rows: Ints) -> RecordChunk:
        """Copy rows of one member, which is not kept for later."""
        return self._inflated(self._holding(rows)).copy(rows)

    def _holding(self, rows: Ints) -> int:
        return int(self._members.holding(rows[:1])[0])

    def _member(self, number: int) -> ScannedRecords:
        found = self._kept.get(self._path, number)
        if found is None:
            found = self._inflated(number)
            self._kept.put(self._path, number, found, self._size(number))
        return found

    def _size(self, number: int) -> int:
        return int(self._members.stream_offset[number + 1] - self._members.stream_offset[number])

    def _inflated(self, number: int) -> ScannedRecords:
        begin, end = map(int, self._members.file_offset[number : number + 2])
        offset, record = int(self._members.stream_offset[number]), int(self._members.first_record[number])
        data = self._store.read(self._path, begin, end)
        plain = inflate_member(data)
        if plain is not None:
            return scan(plain, self._path, self._reading, offset, record)
        if self._reading.salvage:
            start = _before_damage(data, self._path, self._size(number))
            path, chunks, damage = scan(start, self._path, self._reading, offset, record)
            record += sum(map(len, chunks)) + sum(error.kind == "data-crc" for error in damage)
        error = CompressionError(
            f"a gzip member does not inflate: {self._path}, record {record}, byte {begin} of the file",
            path=self._path,
            offset=offset,
            stop=offset + self._size(number),
            record=record,
            kind="inflate",
        )
        if not self._reading.salvage:
            raise error
        return ScannedRecords(path, chunks, [*(found for found in damage if found.kind == "data-crc"), error])


def _before_damage(member: bytes, path: str, most: int) -> bytes:
    """Inflate a damaged member as far as it goes, and no further than it said."""
    plain = bytearray()
    try:
        for piece in inflate_next_member(ByteSource([member], path)):
            plain += piece
            if len(plain) >= most:
                break
    except CorruptDataError:
        pass  # what is before it is what is wanted
    return bytes(plain)


class StreamRows:
    """Rows of a file that is read from its start: going back starts again, so rows are asked for as they come."""

    def __init__(self, path: str, index: ShardIndex | SalvagedIndex, reading: Reading, window: int) -> None:
        salvaged = isinstance(index, SalvagedIndex)
        self._reader = RecordReader(
            path,
            compression=reading.compression,
            verify=reading.verify,
            on_error="skip" if salvaged else "skip_record" if reading.salvage else "raise",
            nested=reading.nested,
            max_record_bytes=reading.max_record_bytes,
            threads=reading.threads,
        )
        self._index, self._window = index, window
        self._stream: Iterator[RecordChunk] | None = None
        self._kept: deque[RecordChunk] = deque()
        self._next = 0
        """The record behind those that were read."""
        self._end: list[CorruptDataError] | None = None
        """Once there is nothing more to read: the error that ended it, if one did."""
        self._lock = Lock()

    def ask(self, rows: Ints) -> FetchedRecords:
        return lambda: self._read(rows)

    def _read(self, rows: Ints) -> PickedRecords:
        with self._lock:
            numbers = _numbers_of(self._index, rows)
            first, last = int(numbers[0]), int(numbers[-1])
            is_behind = first < self._next and not (self._kept and self._kept[0].first_record <= first)
            if self._stream is None or is_behind:
                self._stream, self._next, self._end = self._reader.chunks(), 0, None
                self._kept.clear()
            while self._next <= last and self._end is None:
                self._advance(self._stream, first)
            damage = [*self._reader.damage, *(self._end or ())]
            return ScannedRecords(self._reader.path, self._kept, damage).pick(numbers)

    def _advance(self, stream: Iterator[RecordChunk], first: int) -> None:
        try:
            chunk = next(stream)
        except CorruptDataError as error:
            self._end = [error]
        except StopIteration:
            self._end = []
        else:
            self._kept.append(chunk)
            self._next = chunk.first_record + len(chunk)
            while self._kept and self._kept[0].first_record + len(self._kept[0]) <= min(
                first, self._next - self._window
            ):
                self._kept.popleft()
