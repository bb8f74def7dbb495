"""Reads rows of a dataset by number and decodes them into columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock._core import RecordChunk
from penstock.arguments import names_in
from penstock.codec.decode_plan import RowDecoder, compile_plan
from penstock.codec.decoder import Allocate, Decoder
from penstock.codec.encoder import keys_of, rewrite_of_keys
from penstock.columns import Batch
from penstock.dataset.order import Ints, RowKeys
from penstock.dataset.source.array_record import ArrayRecordShards
from penstock.dataset.source.file_rows import FileRows, MemberCache, MemberRows, open_rows
from penstock.dataset.source.pick_records import PickedRecords, slice_chunks
from penstock.dataset.source.shards import SalvagedIndex, Shards
from penstock.discovery.resolve import resolve
from penstock.discovery.split_slices import Split
from penstock.discovery.tfds_directory import RowsOfFile
from penstock.errors import CorruptDataError, MalformedExampleError, ManifestError, RowFault, SchemaError
from penstock.records.read_options import OnBadRecord, ReadOptions, RecordError
from penstock.schema import Schema, check_schema
from penstock.schema.schema import keep_stored, rename_features
from penstock.storage import StrPath

_CONCURRENT_REQUESTS = 16


class FetchResult(NamedTuple):
    """The result of a request for rows."""

    batch: Batch
    positions: Ints | None
    """The positions of its rows in the request, if some rows were skipped."""
    errors: tuple[RecordError, ...] = ()
    failure: RecordError | None = None
    """The error to raise after these rows."""


class RowSource:
    """The rows of shards, decoded by a schema. Immutable, apart from what it opens on first use; pickles.

    If ``strict``, a record that is no Example raises: an inferred schema does not cover it, and its row would be empty.
    """

    def __init__(
        self,
        shards: Shards,
        schema: Schema,
        columns: tuple[str, ...] | None,
        on_error: OnBadRecord,
        allocate: Allocate | None = None,
        strict: bool = False,
        schema_to_write: Schema | None = None,
        dropped: frozenset[tuple[bool, str]] | None = frozenset(),
    ) -> None:
        self.shards, self.on_error, self.allocate, self.strict = shards, on_error, allocate, strict
        self._full_schema, self._columns, self._schema_to_write = schema, columns, schema_to_write
        self._dropped = dropped  # the keys of columns that were dropped; None where some were selected
        self._fetcher: tuple[int, _core.RecordFetcher | None] = (0, None)

    def __reduce__(self) -> tuple[Any, ...]:
        read = (self.shards, self._full_schema, self._columns, self.on_error, self.allocate, self.strict)
        return type(self), (*read, self._schema_to_write, self._dropped)

    def _with(self, **changes: Any) -> RowSource:
        parts: dict[str, Any] = {
            "shards": self.shards,
            "schema": self._full_schema,
            "columns": self._columns,
            "on_error": self.on_error,
            "allocate": self.allocate,
            "strict": self.strict,
            "schema_to_write": self._schema_to_write,
            "dropped": self._dropped,
        }
        return RowSource(**parts | changes)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the decoded columns."""
        return self._full_schema if self._columns is None else self._full_schema.select(self._columns)

    @property
    def schema_to_write(self) -> Schema:
        """The schema that stores the decoded columns: renamed ones under their new names."""
        return self.schema if self._schema_to_write is None else self._schema_to_write.select(self.schema)

    def with_names(self, names: Mapping[str, str]) -> RowSource:
        """Return a source with new names for some columns; the files have them under their old keys."""
        self.schema.select(names)  # raises for an unknown name
        hidden = [name for name in self._full_schema if name not in self.schema and name in names.values()]
        full = self._full_schema.select([name for name in self._full_schema if name not in hidden])
        return self._with(
            schema=rename_features(full, names, keep_keys=True),
            columns=None if self._columns is None else tuple(names.get(name, name) for name in self._columns),
            schema_to_write=rename_features(self.schema_to_write, names, keep_keys=False),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the columns are what the records have: none was selected, dropped or renamed."""
        return self._dropped == frozenset() and self._schema_to_write is None

    def with_columns(self, columns: tuple[str, ...]) -> RowSource:
        """Return a source that decodes some of the columns."""
        self.schema.select(columns)  # raises for an unknown name
        return self._with(columns=columns, dropped=None)

    def without_columns(self, columns: tuple[str, ...]) -> RowSource:
        """Return a source without some of the columns."""
        keys = keys_of(self.schema.select(columns))  # raises for an unknown name
        left = tuple(name for name in self.schema if name not in columns)
        return self._with(columns=left, dropped=None if self._dropped is None else self._dropped.union(keys))

    def rewrite(self) -> _core.EntryRewrite | None:
        """Return how records are copied so that they have these columns, under their names.

        Features that the schema does not name stay, unless columns were selected. None where keys are not enough: a
        feature would be copied twice, or does not have the form in which it would be written.
        """
        if keep_stored(self._full_schema) is not self._full_schema:
            return None
        is_sequence = self._full_schema.is_sequence
        return rewrite_of_keys(self.schema, self.schema_to_write, self._dropped, is_sequence, strict=self.strict)

    def with_schema(self, schema: Schema) -> RowSource:
        """Return a source with another schema."""
        return self._with(schema=schema, columns=None)

    def with_allocator(self, allocate: Allocate) -> RowSource:
        """Return a source that decodes dense columns into memory from a function."""
        return self._with(allocate=allocate)

    def with_files(self, files: slice) -> RowSource:
        """Return a source that reads some of the files."""
        return self._with(shards=self.shards.part(files))

    def up_to(self, row: int) -> RowSource:
        """Drop remote files after the one that holds this row, so that they need no index."""
        return self._with(shards=self.shards.up_to(row))

    def can_concat(self, other: RowSource) -> bool:
        """Return whether ``self + other`` is possible: both read and decode in the same way."""
        return (
            self.schema == other.schema
            and self._full_schema == other._full_schema
            and self.schema_to_write == other.schema_to_write
            and self._dropped == other._dropped
            and self.on_error == other.on_error
            and self.allocate == other.allocate
            and type(self.shards) is type(other.shards)
            and self.shards.options == other.shards.options
        )

    def __add__(self, other: RowSource) -> RowSource:
        return self._with(shards=self.shards + other.shards, strict=self.strict or other.strict)

    @cached_property
    def decoder(self) -> Decoder:
        """Decodes on the calling thread, apart from images; prefetching already runs several in parallel."""
        decoder = self.new_decoder(threads=1)
        decoder._plan = compile_plan(self._full_schema, self._columns, self.shards.options.thread_count)
        return decoder

    def new_decoder(self, threads: int) -> Decoder:
        """Return a decoder of the columns."""
        return Decoder(self._full_schema, columns=self._columns, strict=self.strict, threads=threads)

    @cached_property
    def random_access(self) -> RowFetcher:
        """A fetcher for random access."""
        return self.open()

    @cached_property
    def _row_decoder(self) -> RowDecoder:
        return self.decoder._row_decoder()

    def _native_fetcher(self) -> _core.RecordFetcher:
        """Return the fetcher for local plain files; a forked child opens its own."""
        process, fetcher = self._fetcher
        if process != os.getpid() or fetcher is None:
            fetcher = self.shards.open_native_fetcher()
            self._fetcher = (os.getpid(), fetcher)
        return fetcher

    # Rows that the native fetcher cannot read are read again on the slower path, which raises the error.

    def record(self, row: int) -> bytes:
        """Read the bytes of one record."""
        if self.shards.local_and_plain:
            found = self._native_fetcher().record(row)
            if isinstance(found, bytes):
                return found
        chunks, _ = self.random_access.read(np.array([row]))
        return chunks[0][0]

    def records(self, rows: Ints) -> list[bytes]:
        """Read the bytes of records, in the given order."""
        if self.shards.local_and_plain:
            found, faults = self._native_fetcher().records(rows)
            if not faults:
                return found
        chunks, inverse = self.random_access.read(rows)
        found = [record for chunk in chunks for record in chunk]
        return [found[number] for number in inverse]

    def row(self, row: int) -> dict[str, Any]:
        """Read and decode one row; damage raises, whatever ``on_error`` is."""
        if self.shards.local_and_plain:
            decoded = self._native_fetcher().row(row, self._row_decoder.native)
            if decoded is not None:
                with suppress(RowFault):
                    return self._row_decoder.build_row(decoded)
        return self.random_access.fetch_all(np.array([row])).row(0)

    def fetch(self, rows: Ints) -> Batch:
        """Read and decode rows, in the given order; damage raises, whatever ``on_error`` is."""
        if self.shards.local_and_plain:
            decoded, _ = self._native_fetcher().fetch(rows, self.decoder._native)
            if decoded is not None:
                with suppress(MalformedExampleError):
                    return self.decoder._batch(decoded, lambda row: (None, row))
        return self.random_access.fetch_all(rows)

    def threads_ahead(self, size: int) -> int:
        """Return on how many threads requests of ``size`` rows are read ahead."""
        # One thread reads files without random access, in order.
        return self.shards.options.thread_count if self.shards.seekable else 1

    def open(self, window: int = 0) -> RowFetcher:
        """Open the files for reading rows by number."""
        return RowFetcher(self, window)


class RowFetcher:
    """Reads and decodes rows on the calling thread. Thread-safe."""

    def __init__(self, source: RowSource, window: int) -> None:
        self._source = source
        self._shards = source.shards
        self._window = window
        self._open: dict[int, FileRows] = {}
        # Shared by all files, of which there may be thousands; threads start with the first requests.
        self._requests = ThreadPoolExecutor(_CONCURRENT_REQUESTS, "penstock-ranges") if source.shards.remote else None
        self._members = MemberCache()

    def fetch_keys(self, keys: RowKeys) -> FetchResult:
        """Return rows in the given order, which are the same in every epoch."""
        return self.fetch(keys.rows)

    def fetch(self, rows: Ints) -> FetchResult:
        """Return rows in the given order, subject to ``on_error``."""
        try:
            return FetchResult(self.fetch_all(rows), None)
        except (CorruptDataError, MalformedExampleError) as error:
            if self._source.on_error == "raise":
                return self._rows_before(error, rows)
        found = self._find_errors(np.unique(rows))
        good = np.flatnonzero(~np.isin(rows, [row for _, row in found]))
        return FetchResult(self.fetch_all(rows[good]), good, tuple(error for error, _ in found))

    def _rows_before(self, error: RecordError, rows: Ints) -> FetchResult:
        """Return the rows before the one that failed; raise the error if there are none."""
        count = int(np.argmax(rows == self._row_of(error, rows)))
        if not count:
            raise error
        result = self.fetch(rows[:count])
        return result if result.failure is not None else result._replace(positions=np.arange(count), failure=error)

    def _find_errors(self, rows: Ints) -> list[tuple[RecordError, int]]:
        """Return all errors of ascending rows, each with its row."""
        picked, _ = self._request(rows)
        found: list[tuple[RecordError, int]] = []
        for lost in picked.errors:
            found.append((lost, self._row_of(lost, rows)))
            rows = rows[rows != found[-1][1]]
        # Decoding reports one bad record at a time: decode what is before and after it separately.
        todo = [(0, len(rows))]
        while todo:
            start, stop = todo.pop()
            try:
                self.decode(slice_chunks(picked.chunks, start, stop))
            except MalformedExampleError as error:
                row = self._row_of(error, rows[start:stop])
                at = int(np.searchsorted(rows, row))
                # Drop the traceback: its frames reference the record buffers and would keep them alive.
                error.__context__ = None
                found.append((error.with_traceback(None), row))
                todo += [part for part in ((at + 1, stop), (start, at)) if part[0] < part[1]]
        return found

    def read(self, rows: Ints) -> tuple[list[RecordChunk], Ints]:
        """Read each distinct row once, in file order; also return the position of each requested row. Damage raises."""
        picked, inverse = self._request(rows)
        return picked.complete(), inverse

    def _request(self, rows: Ints) -> tuple[PickedRecords, Ints]:
        unique, inverse = np.unique(rows, return_inverse=True)
        shards, numbers = self._shards.split(unique)
        # Start all requests before waiting for the first: a remote store serves many at once.
        pending = [self._rows(shard).request(numbers[shards == shard]) for shard in np.unique(shards).tolist()]
        return PickedRecords.concat(result() for result in pending), inverse

    def split_into_parts(self, rows: Ints) -> list[Ints]:
        """Split ascending rows into parts that are read at once: those of one file or gzip member."""
        shards, numbers = self._shards.split(rows)
        parts: list[Ints] = []
        for shard in np.unique(shards).tolist():
            opened, selected = self._rows(shard), numbers[shards == shard]
            of_file = opened.split_by_member(selected) if isinstance(opened, MemberRows) else [selected]
            parts += [part + self._shards.starts[shard] for part in of_file]
        return parts

    def copy_part(self, part: Ints) -> RecordChunk:
        """Copy the records of a part into a new chunk, without caching."""
        shards, numbers = self._shards.split(part)
        opened = self._rows(int(shards[0]))
        if isinstance(opened, MemberRows):
            return opened.copy_from_member(numbers)
        return _core.RecordPool(opened.request(numbers)().complete()).take(np.arange(len(numbers)))

    def decode(self, records: list[RecordChunk]) -> Batch:
        """Decode records."""
        return self._source.decoder.decode(records, allocate=self._source.allocate)

    def fetch_all(self, rows: Ints) -> Batch:
        """Return rows in the given order; damage raises."""
        chunks, inverse = self.read(rows)
        batch = self.decode(chunks)
        in_order = len(inverse) == batch.num_rows and bool((inverse == np.arange(len(inverse))).all())
        return batch if in_order else batch.take(inverse)

    def _rows(self, shard: int) -> FileRows:
        opened = self._open.get(shard)
        if opened is None:
            shards = self._shards
            opened = open_rows(
                shards.paths[shard],
                shards.index(shard),
                shards.options,
                self._window,
                self._members,
                self._requests,
            )
            opened = self._open.setdefault(shard, opened)
        return opened

    def _row_of(self, error: RecordError, rows: Ints) -> int:
        """Return the row that an error is about, the first if a file occurs twice; raise the error if there is none."""
        shards, record = self._shards, error.record
        if record is None:
            raise error
        for shard in [shard for shard, path in enumerate(shards.paths) if path == error.path]:
            index = shards.index(shard)
            number = index.row_of(record) if isinstance(index, SalvagedIndex) else record
            if number is not None and (row := int(shards.starts[shard]) + number) in rows:
                return row
        raise error


def open_source(
    paths: StrPath | Iterable[StrPath],
    schema: Schema | None,
    columns: Iterable[str] | None,
    on_error: OnBadRecord,
    options: ReadOptions,
    split: str | Split | None = None,
) -> tuple[RowSource, list[RowsOfFile]]:
    """Open the files that ``paths`` name; also return which rows of each to read. Records are read on demand."""
    resolved = resolve(paths, split)
    formats = {"tfrecord" if file.tfds is None else file.tfds.file_format for file in resolved.files}
    if len(formats) > 1:
        raise ManifestError(
            f"the files are of the formats {' and '.join(sorted(formats))}: open a dataset of each, and join them with "
            "concat()"
        )
    kind = ArrayRecordShards if "array_record" in formats else Shards
    if kind is ArrayRecordShards and schema is None and not resolved.schemas:
        raise SchemaError(f"nothing describes the records of {resolved.paths[0]}: pass schema=")
    shards = kind(resolved.paths, options, resolved.counts)
    whole = resolved.describe(on_error) if schema is None else check_schema(schema)
    source = RowSource(shards, whole, None, on_error, strict=schema is None and not resolved.schemas)
    source = source if columns is None else source.with_columns(names_in(columns))
    return source, [(0, None) if file.tfds is None else file.tfds.rows for file in resolved.files]
