"""The files of a dataset, their row counts and their indexes; also indexes of damaged files."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from penstock import _core
from penstock.compression import Compression
from penstock.compression.gzip import EMPTY_FILE, HEADER_BYTES, sized_member
from penstock.dataset.order import Ints
from penstock.errors import CorruptDataError, ManifestError, RecordTooLargeError
from penstock.index import ShardIndex
from penstock.index.array_record import ArrayRecordIndex
from penstock.index.build import compression_of
from penstock.index.file_identity import identify
from penstock.index.open import find_or_build, load_index
from penstock.index.shard_index import Layout, Uint64s
from penstock.parallel import available_cpus
from penstock.records.read_options import ReadOptions
from penstock.records.reader import RecordReader
from penstock.storage import is_remote, locate


class Shards:
    """Files whose rows are numbered consecutively. Indexes are loaded or built on first use, or passed in.

    Args:
        paths: The files.
        options: How to read them.
        counts: How many rows each has, by its metadata.
        indexes: The index of each, or the part of it that the rows to read need; it is pickled.
    """

    is_tfrecord = True
    """Whether records are framed as in TFRecord files."""

    def __init__(
        self,
        paths: tuple[str, ...],
        options: ReadOptions,
        counts: tuple[int, ...] | None = None,
        indexes: tuple[ShardIndex, ...] | None = None,
    ) -> None:
        self.paths = paths
        self.options = options
        self._manifest_counts = counts
        self._carried = indexes
        self._opened: dict[int, AnyIndex] = dict(enumerate(indexes or ()))
        if indexes is not None:
            self.indexes = indexes

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.paths, self.options, self._manifest_counts, self._carried)

    def __add__(self, other: Shards) -> Shards:
        counts, others = self._manifest_counts, other._manifest_counts
        joined = None if counts is None or others is None else counts + others
        return type(self)(self.paths + other.paths, self.options, joined)

    def part(self, files: slice) -> Shards:
        """Return some of the files."""
        counts = self._manifest_counts
        return type(self)(self.paths[files], self.options, None if counts is None else counts[files])

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The number of rows of each file."""
        return self.known_counts or tuple(index.records for index in self.indexes)

    @property
    def known_counts(self) -> tuple[int, ...] | None:
        """The number of rows of each file, from the metadata; None without, or if damaged records are skipped."""
        return None if self.options.skips_damage else self._manifest_counts

    @property
    def known_rows(self) -> int | None:
        """The number of rows, or None if files would have to be read to count them."""
        return sum(self.counts) if self.counted else None

    @property
    def counted(self) -> bool:
        """Whether the number of rows of all files is known without reading them."""
        return self.known_counts is not None or self.indexed

    @cached_property
    def starts(self) -> Ints:
        """The first row of each file, then the number of rows."""
        return np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)]).astype(np.int64)

    @property
    def rows(self) -> int:
        """The number of rows of all files."""
        return int(self.starts[-1])

    def index(self, shard: int) -> AnyIndex:
        """Return the index of one file, without opening the others."""
        index = self._opened.get(shard)
        if index is None:
            index = self._open_index(self.paths[shard])
            expected = None if self.known_counts is None else self.known_counts[shard]
            if expected not in (None, index.records):
                raise ManifestError(
                    f"{self.paths[shard]}: the metadata lists {expected} records, the file has {index.records}"
                )
            self._opened[shard] = index
        return index

    @cached_property
    def indexes(self) -> tuple[AnyIndex, ...]:
        """The index of each file."""
        with ThreadPoolExecutor(self.options.thread_count, "penstock-index") as pool:
            return tuple(pool.map(self.index, range(len(self.paths))))

    @property
    def indexed(self) -> bool:
        """Whether all indexes are loaded."""
        return "indexes" in vars(self)

    @cached_property
    def seekable(self) -> bool:
        """Whether all files have random access."""
        return all(index.seekable for index in self.indexes)

    @cached_property
    def stored_restarts(self) -> bool:
        """Whether stored indexes have restart points for all files, so that several threads can inflate each."""
        options = self.options
        if self.remote or options.thread_count < 2 or options.skips_damage:
            return False
        for shard, path in enumerate(self.paths):
            try:
                index = load_index(path, compression=options.compression or "auto", where=options.index)
            except OSError:
                return False  # a stream, or a file that is missing: reading it says so
            if index is None or index.restarts is None:
                return False
            check_lengths(path, index, options.max_record_bytes)
            self._opened.setdefault(shard, index)
        return True

    @cached_property
    def seekable_by_themselves(self) -> bool:
        """Whether all files have random access that does not depend on restart points in their indexes."""
        return all(index.seekable_by_itself for index in self.indexes)

    @cached_property
    def remote(self) -> bool:
        """Whether any file is on a remote store."""
        return any(map(is_remote, self.paths))

    @cached_property
    def local_and_plain(self) -> bool:
        """Whether native threads can read all files."""
        for path in self.paths:
            store, name = locate(path)
            if not store.capabilities.native_paths or compression_of(store, name, self.options):
                return False
        return True

    @cached_property
    def local_members(self) -> bool:
        """Whether native threads can read the gzip members of all files; judged by the first of each."""
        for path in self.paths:
            store, name = locate(path)
            if not store.capabilities.native_paths or compression_of(store, name, self.options) != "GZIP":
                return False
            head = store.read(name, 0, HEADER_BYTES)
            if head != EMPTY_FILE and sized_member(head) is None:
                return False
        return True

    @cached_property
    def rows_per_run(self) -> int:
        """How many rows have about 1 MiB as stored, going by the first file that has rows."""
        for path, count in zip(self.paths, self.counts, strict=True):
            store, name = locate(path)
            if count and (size := store.stat(name).size):
                return max(1, (count << 20) // size)
        return 1

    @cached_property
    def has_byte_ranges(self) -> bool:
        """Whether a row is read without decompressing those next to it, going by the first file."""
        return not any(compression_of(*locate(path), self.options) for path in self.paths[:1])

    def split(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the file of each row, and its row number within that file."""
        starts = self._starts_through(int(rows.max(initial=0)))
        shards = np.searchsorted(starts, rows, side="right") - 1
        return shards, rows - starts[shards]

    def locate(self, rows: Ints, position: int) -> tuple[str, int]:
        """Return the file and the record of one of some rows."""
        shards, numbers = self.split(rows[position : position + 1])
        return self.paths[int(shards[0])], int(numbers[0])

    def rows_beyond(self, row: int) -> int:
        """Return the number of rows up to the end of the file that holds this row; later files are not opened."""
        return int(self._starts_through(row)[-1])

    def up_to(self, row: int) -> Shards:
        """Drop remote files after the one that holds this row, so that they need no index."""
        if self.counted or not self.remote:
            return self
        files = len(self._starts_through(row)) - 1
        first = type(self)(self.paths[:files], self.options)
        first._opened = self._opened
        return first

    def _starts_through(self, row: int) -> Ints:
        """Return the first row of each file up to the one that holds this row, and of the next one."""
        if self.counted or not self.remote:
            return self.starts
        starts = [0]
        for shard in range(len(self.paths)):
            if starts[-1] > row:
                break
            starts.append(starts[-1] + self.index(shard).records)
        return np.array(starts, np.int64)

    @cached_property
    def locations(self) -> _core.RecordLocations:
        """The locations of all rows, in plain files."""
        return _core.RecordLocations(tuple(index.layout() for index in self.indexes))

    def open_native_fetcher(self) -> _core.RecordFetcher:
        """Open local plain files for native threads."""
        options = self.options
        return _core.RecordFetcher(self.paths, self.locations, threads=options.thread_count, verify=options.verify)

    @cached_property
    def identity(self) -> str:
        """A hash of the content, from the sizes and samples of the files, so that a copy has the same one."""
        digest = hashlib.sha256()
        for path in self.paths:
            store, name = locate(path)
            identity = identify(store, name)
            digest.update(repr(identity and identity.to_json()).encode())
        return digest.hexdigest()[:32]

    def _open_index(self, path: str) -> AnyIndex:
        options = self.options
        try:
            index = find_or_build(path, replace(options, threads=max(1, available_cpus() // len(self.paths))))
            check_lengths(path, index, options.max_record_bytes)
            return index
        except CorruptDataError:
            if not options.skips_damage:
                raise
            return salvage_index(path, options)


def check_lengths(path: str, index: ShardIndex, limit: int) -> None:
    """Raise if a record exceeds the limit: a cached index may have been built with a higher one."""
    number = None if index.lengths is None else index.lengths.first_above(limit)
    if number is not None:
        offset, length = index.location(number)
        raise RecordTooLargeError(
            f"the record has {length} bytes, more than max_record_bytes allows: {path}, record {number}, byte {offset}",
            path=path,
            offset=offset,
            record=number,
            kind="too-large",
        )


@dataclass(frozen=True, eq=False)
class SalvagedIndex:
    """Where the records outside the damage are. It is not cached: repair the file instead."""

    compression: Compression
    damage: tuple[CorruptDataError, ...]
    _starts: Uint64s
    _lengths: Uint64s
    _numbers: Ints

    segments = None

    @property
    def records(self) -> int:
        """The number of records outside the damage."""
        return len(self._starts)

    @property
    def seekable(self) -> bool:
        """Whether a record can be read without reading those before it."""
        return not self.compression

    seekable_by_itself = seekable

    def locations(self, rows: Ints) -> tuple[Uint64s, Uint64s]:
        """Return the frame offsets and payload lengths of records."""
        return self._starts[rows], self._lengths[rows]

    def layout(self) -> Layout:
        """Return the frame offsets and payload lengths of all records, for native readers."""
        return self._starts, self._lengths

    def numbers(self, rows: Ints) -> Ints:
        """Return the numbers of rows in the file, where damaged records count too."""
        return self._numbers[rows]

    def row_of(self, number: int) -> int | None:
        """Return the row of a record by its number in the file, or None if it is damaged."""
        row = int(np.searchsorted(self._numbers, number))
        return row if row < len(self._numbers) and self._numbers[row] == number else None


AnyIndex: TypeAlias = ShardIndex | SalvagedIndex | ArrayRecordIndex
"""Where the records of one file are."""


def count_lost_records(damage: CorruptDataError) -> int | None:
    """Return how many records were lost in a damaged region, or None if unknown."""
    return damage.records if damage.kind == "doubtful" else 1 if damage.kind == "data-crc" else None


def salvage_index(path: str, options: ReadOptions) -> SalvagedIndex:
    """Index the records outside the damage of a file.

    The payloads of a plain file are checked when they are read. A compressed file is read front to back every time and
    must then have the same records, so its payloads are checked now too.
    """
    store, name = locate(path)
    kind = compression_of(store, name, options)
    reader = RecordReader._with_options(path, replace(options, verify=options.verify and bool(kind), threads=None))
    starts, lengths = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
    numbers = [np.zeros(0, np.int64)]
    for chunk in reader.chunks():
        spans = chunk.spans
        # Within a chunk, offsets in the buffer and in the file differ by a constant.
        starts.append(spans[:, 0] - spans[0, 0] + np.uint64(chunk.frame_offset(0)))
        lengths.append(spans[:, 1].copy())
        numbers.append(np.arange(chunk.first_record, chunk.first_record + len(chunk)))
    return SalvagedIndex(
        kind, tuple(reader.damage), np.concatenate(starts), np.concatenate(lengths), np.concatenate(numbers)
    )
