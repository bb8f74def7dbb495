"""The files of a dataset, and where the rows of all of them are."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np

from penstock import _core
from penstock.arguments import int_at_least
from penstock.compression import Compression, check
from penstock.dataset.order import Ints
from penstock.errors import CorruptDataError, ManifestError, RecordTooLargeError
from penstock.index import ShardIndex, Where, open_index
from penstock.index.build import compression_of
from penstock.index.file_identity import identify
from penstock.index.shard_index import Layout, Uint64s
from penstock.records.reader import RecordReader
from penstock.storage import is_remote, locate


@dataclass(frozen=True)
class Reading:
    """How files are read; :class:`penstock.Dataset` says what each means."""

    compression: str = "auto"
    verify: bool = True
    max_record_bytes: int = 1 << 30
    threads: int = 1
    index: Where = "cache"
    salvage: bool = False
    """Index around damage, which would else be an error."""
    nested: bool | None = True

    def __post_init__(self) -> None:
        if self.compression != "auto":
            check(self.compression)
        for name, least in (("max_record_bytes", 0), ("threads", 1)):
            object.__setattr__(self, name, int_at_least(name, getattr(self, name), least))
        if self.index not in get_args(Where):
            raise ValueError(f"index is one of {', '.join(map(repr, get_args(Where)))}, not {self.index!r}")


class Shards:
    """Files whose rows are numbered through. Indexes are loaded or built when they are first needed."""

    def __init__(self, paths: tuple[str, ...], reading: Reading, counts: tuple[int, ...] | None = None) -> None:
        self.paths = paths
        self.reading = reading
        self._told = counts
        """The records of each file, as a manifest tells."""
        self._opened: dict[int, ShardIndex | SalvagedIndex] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.paths, self.reading, self._told)

    def __add__(self, other: Shards) -> Shards:
        told = self._told + other._told if self._told is not None and other._told is not None else None
        return Shards(self.paths + other.paths, self.reading, told)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The rows of each file."""
        return self.told or tuple(index.records for index in self.indexes)

    @property
    def told(self) -> tuple[int, ...] | None:
        """The rows of each file, where a manifest tells; around damage, they may be fewer."""
        return None if self.reading.salvage else self._told

    @property
    def known_rows(self) -> int | None:
        """The rows of all files, where nothing has to be read for it."""
        return sum(self.counts) if self.counted else None

    @property
    def counted(self) -> bool:
        """Whether the rows of all files are known, so that asking for them costs nothing."""
        return self.told is not None or self.indexed

    @cached_property
    def starts(self) -> Ints:
        """The first row of each file, and how many rows there are."""
        return np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)]).astype(np.int64)

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return int(self.starts[-1])

    def index(self, shard: int) -> ShardIndex | SalvagedIndex:
        """Return the index of one file; the others need not be looked at."""
        index = self._opened.get(shard)
        if index is None:
            index = self._open_index(self.paths[shard])
            told = None if self.told is None else self.told[shard]
            if told not in (None, index.records):
                raise ManifestError(
                    f"{self.paths[shard]}: the manifest tells {told} records, the file has {index.records}"
                )
            self._opened[shard] = index
        return index

    @cached_property
    def indexes(self) -> tuple[ShardIndex | SalvagedIndex, ...]:
        """The index of each file."""
        with ThreadPoolExecutor(self.reading.threads, "penstock-index") as pool:
            return tuple(pool.map(self.index, range(len(self.paths))))

    @property
    def indexed(self) -> bool:
        """Whether the indexes are there, so that asking for them costs nothing."""
        return "indexes" in vars(self)

    @cached_property
    def seekable(self) -> bool:
        """Whether all files have random access."""
        return all(index.seekable for index in self.indexes)

    @cached_property
    def remote(self) -> bool:
        """Whether files are far away, so that reading one costs more than a look at it."""
        return any(map(is_remote, self.paths))

    @cached_property
    def local_and_plain(self) -> bool:
        """Whether native threads can read all files."""
        for path in self.paths:
            store, name = locate(path)
            if not store.capabilities.native_paths or compression_of(store, name, self.reading.compression):
                return False
        return True

    def split(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the file of each row, and its number in that file."""
        starts = self._starts_beyond(int(rows.max(initial=0)))
        shards = np.searchsorted(starts, rows, side="right") - 1
        return shards, rows - starts[shards]

    def rows_beyond(self, row: int) -> int:
        """Count rows, through the file that holds this one: those behind it need not be looked at."""
        return int(self._starts_beyond(row)[-1])

    def through(self, row: int) -> Shards:
        """Leave out remote files behind the one that holds this row: what is not there needs no index."""
        if self.counted or not self.remote:
            return self
        files = len(self._starts_beyond(row)) - 1
        some = Shards(self.paths[:files], self.reading)
        some._opened = self._opened
        return some

    def _starts_beyond(self, row: int) -> Ints:
        """Return the first row of each file through the one that holds this row, and of what is behind it."""
        if self.counted or not self.remote:
            return self.starts
        starts = [0]
        for shard in range(len(self.paths)):
            if starts[-1] > row:
                break
            starts.append(starts[-1] + self.index(shard).records)
        return np.array(starts, np.int64)

    @cached_property
    def places(self) -> _core.RecordLocations:
        """Where the rows of plain files are."""
        return _core.RecordLocations(tuple(index.layout() for index in self.indexes))

    def open_natively(self) -> _core.RecordFetcher:
        """Open local plain files for native threads."""
        reading = self.reading
        return _core.RecordFetcher(self.paths, self.places, threads=reading.threads, verify=reading.verify)

    @cached_property
    def identity(self) -> str:
        """A name for the content, told by sizes and samples, so that a copy has the same."""
        found = hashlib.sha256()
        for path in self.paths:
            store, name = locate(path)
            identity = identify(store, name)
            found.update(repr(identity and identity.to_json()).encode())
        return found.hexdigest()[:32]

    def _open_index(self, path: str) -> ShardIndex | SalvagedIndex:
        reading = self.reading
        try:
            index = open_index(
                path,
                compression=reading.compression,
                where=reading.index,
                max_record_bytes=reading.max_record_bytes,
            )
            check_lengths(path, index, reading.max_record_bytes)
            return index
        except CorruptDataError:
            if not reading.salvage:
                raise
            return salvage_index(
                path, reading.compression, reading.max_record_bytes, verify=reading.verify, nested=reading.nested
            )


def check_lengths(path: str, index: ShardIndex, limit: int) -> None:
    """Refuse a record that is too long: an index that is kept may be from somebody who allowed for it."""
    number = None if index.lengths is None else index.lengths.first_above(limit)
    if number is not None:
        offset, length = index.place(number)
        raise RecordTooLargeError(
            f"the record has {length} bytes, more than max_record_bytes allows: {path}, record {number}, byte {offset}",
            path=path,
            offset=offset,
            record=number,
            kind="too-large",
        )


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
    """Return how many records a damaged place held; None where nobody knows."""
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
