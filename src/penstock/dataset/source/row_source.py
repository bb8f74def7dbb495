"""Rows of a dataset as columns: fetched by their numbers, decoded by the schema."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock._core import RecordChunk
from penstock.arguments import names_in
from penstock.codec.decode_plan import RowDecoder
from penstock.codec.decoder import Allocate, Decoder
from penstock.columns import Batch
from penstock.dataset.order import Ints
from penstock.dataset.source.file_rows import FileRows, MemberCache, MemberRows, open_rows
from penstock.dataset.source.pick_records import PickedRecords, cut
from penstock.dataset.source.shards import SalvagedIndex, Shards
from penstock.discovery.resolve import resolve
from penstock.errors import CorruptDataError, MalformedExampleError, RowFault
from penstock.records.read_options import OnBadRecord, ReadOptions, RecordError
from penstock.schema import Schema, check_schema
from penstock.storage import StrPath

"""What a damaged record, or one that does not fit the schema, does; a function is called with the error, then skip."""
# Requests to a remote store that wait side by side.
_REQUESTS = 16


class Fetched(NamedTuple):
    """Rows that were fetched."""

    batch: Batch
    kept: Ints | None
    """Which of the rows that were asked for are in it, where some were passed over."""
    errors: tuple[RecordError, ...] = ()
    failure: RecordError | None = None
    """What the row behind these raises, where errors are not passed over."""


class RowSource:
    """The rows of shards, decoded by a schema. Immutable but for what it opens when it is first used; pickles.

    Where ``strict``, a record of another message than an Example is an error: an inferred schema says nothing of it,
    and its row would be empty.
    """

    def __init__(
        self,
        shards: Shards,
        schema: Schema,
        columns: tuple[str, ...] | None,
        on_error: OnBadRecord,
        allocate: Allocate | None = None,
        strict: bool = False,
    ) -> None:
        self.shards, self.on_error, self.allocate, self.strict = shards, on_error, allocate, strict
        self._whole_schema, self._columns = schema, columns
        self._fetcher: tuple[int, _core.RecordFetcher | None] = (0, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.shards, self._whole_schema, self._columns, self.on_error, self.allocate, self.strict)

    def _with(self, **changes: Any) -> RowSource:
        parts: dict[str, Any] = {
            "shards": self.shards,
            "schema": self._whole_schema,
            "columns": self._columns,
            "on_error": self.on_error,
            "allocate": self.allocate,
            "strict": self.strict,
        }
        return RowSource(**parts | changes)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the columns that are decoded."""
        return self._whole_schema if self._columns is None else self._whole_schema.select(self._columns)

    def with_columns(self, columns: tuple[str, ...]) -> RowSource:
        """Decode these columns, out of those that are decoded now."""
        self.schema.select(columns)  # an unknown name is an error here
        return self._with(columns=columns)

    def with_schema(self, schema: Schema) -> RowSource:
        """Decode by another schema."""
        return self._with(schema=schema, columns=None)

    def with_allocator(self, allocate: Allocate) -> RowSource:
        """Decode dense columns into memory that a function makes."""
        return self._with(allocate=allocate)

    def through(self, row: int) -> RowSource:
        """Leave out remote files behind the one that holds this row: what is not there needs no index."""
        return self._with(shards=self.shards.through(row))

    def joins(self, other: RowSource) -> bool:
        """Whether the rows of another source can stand behind these as if they were of one."""
        return (
            self.schema == other.schema
            and self._whole_schema == other._whole_schema
            and self.on_error == other.on_error
            and self.allocate == other.allocate
            and self.shards.reading == other.shards.reading
        )

    def __add__(self, other: RowSource) -> RowSource:
        return self._with(shards=self.shards + other.shards, strict=self.strict or other.strict)

    @cached_property
    def decoder(self) -> Decoder:
        """Decodes on the thread that asks: threads run ahead side by side."""
        return self.new_decoder(threads=1)

    def new_decoder(self, threads: int) -> Decoder:
        """Compile the schema."""
        return Decoder(self._whole_schema, columns=self._columns, strict=self.strict, threads=threads)

    @cached_property
    def random_access(self) -> RowFetcher:
        """Reads a few rows at a time, whenever somebody asks."""
        return self.open()

    @cached_property
    def _row_decoder(self) -> RowDecoder:
        return self.decoder._row_decoder()

    def _native(self) -> _core.RecordFetcher:
        """Return what reads local plain files; a forked child opens its own."""
        process, fetcher = self._fetcher
        if process != os.getpid() or fetcher is None:
            fetcher = self.shards.open_natively()
            self._fetcher = (os.getpid(), fetcher)
        return fetcher

    # What is natively found to be wrong with a row, or to be another kind of file, is read again the slower way, which
    # says what it is.

    def record(self, row: int) -> bytes:
        """Read one record as it is stored."""
        if self.shards.local_and_plain:
            found = self._native().record(row)
            if isinstance(found, bytes):
                return found
        chunks, _ = self.random_access.read(np.array([row]))
        return chunks[0][0]

    def records(self, rows: Ints) -> list[bytes]:
        """Read records as they are stored, in the order in which they are named."""
        if self.shards.local_and_plain:
            found, faults = self._native().records(rows)
            if not faults:
                return found
        chunks, inverse = self.random_access.read(rows)
        found = [record for chunk in chunks for record in chunk]
        return [found[number] for number in inverse]

    def row(self, row: int) -> dict[str, Any]:
        """Read and decode one row; damage raises, whatever the policy of a pass."""
        if self.shards.local_and_plain:
            decoded = self._native().row(row, self._row_decoder.native)
            if decoded is not None:
                with suppress(RowFault):
                    return self._row_decoder.build_row(decoded)
        return self.random_access.fetch_all(np.array([row])).row(0)

    def fetch(self, rows: Ints) -> Batch:
        """Read and decode rows, in the order in which they are named; damage raises, whatever the policy of a pass."""
        if self.shards.local_and_plain:
            decoded, _ = self._native().fetch(rows, self.decoder._native)
            if decoded is not None:
                with suppress(MalformedExampleError):
                    return self.decoder._batch(decoded, lambda row: (None, row))
        return self.random_access.fetch_all(rows)

    def open(self, window: int = 0) -> RowFetcher:
        """Open the files for reading rows by number."""
        return RowFetcher(self, window)


class RowFetcher:
    """Reads and decodes rows, on the calling thread. Safe to share between threads."""

    def __init__(self, source: RowSource, window: int) -> None:
        self._source = source
        self._shards = source.shards
        self._window = window
        self._open: dict[int, FileRows] = {}
        # One for all files, of which there may be thousands; threads start when there is something to ask for.
        self._requests = ThreadPoolExecutor(_REQUESTS, "penstock-ranges") if source.shards.remote else None
        self._members = MemberCache()

    def fetch(self, rows: Ints) -> Fetched:
        """Return rows in the order in which they are named."""
        try:
            return Fetched(self.fetch_all(rows), None)
        except (CorruptDataError, MalformedExampleError) as error:
            if self._source.on_error == "raise":
                return self._in_front_of(error, rows)
        found = self._errors_of(np.unique(rows))
        kept = np.flatnonzero(~np.isin(rows, [row for _, row in found]))
        return Fetched(self.fetch_all(rows[kept]), kept, tuple(error for error, _ in found))

    def _in_front_of(self, error: RecordError, rows: Ints) -> Fetched:
        """Return those rows that come before the one which an error is about; raise it where there are none."""
        count = int(np.argmax(rows == self._row_of(error, rows)))
        if not count:
            raise error
        front = self.fetch(rows[:count])
        return front if front.failure is not None else front._replace(kept=np.arange(count), failure=error)

    def _errors_of(self, rows: Ints) -> list[tuple[RecordError, int]]:
        """Find all that is wrong with rows, named in ascending order, and which of them it is."""
        picked, _ = self._ask(rows)
        found: list[tuple[RecordError, int]] = []
        for lost in picked.errors:
            found.append((lost, self._row_of(lost, rows)))
            rows = rows[rows != found[-1][1]]
        # A call tells of one record that does not decode: what is before it and behind it is looked at apart.
        todo = [(0, len(rows))]
        while todo:
            start, stop = todo.pop()
            try:
                self.decode(cut(picked.chunks, start, stop))
            except MalformedExampleError as error:
                row = self._row_of(error, rows[start:stop])
                place = int(np.searchsorted(rows, row))
                # Who keeps it would keep, by the frames that it came through, the records.
                error.__context__ = None
                found.append((error.with_traceback(None), row))
                todo += [part for part in ((place + 1, stop), (start, place)) if part[0] < part[1]]
        return found

    def read(self, rows: Ints) -> tuple[list[RecordChunk], Ints]:
        """Read each row once, in the order of the files; return where each that was asked for is. Damage raises."""
        picked, inverse = self._ask(rows)
        return picked.sound(), inverse

    def _ask(self, rows: Ints) -> tuple[PickedRecords, Ints]:
        unique, inverse = np.unique(rows, return_inverse=True)
        shards, numbers = self._shards.split(unique)
        # All are asked before the first is waited for: a store far away answers many at once.
        answers = [self._rows(shard).ask(numbers[shards == shard]) for shard in np.unique(shards).tolist()]
        return PickedRecords.of_all(answer() for answer in answers), inverse

    def parts(self, rows: Ints) -> list[Ints]:
        """Divide rows, named in ascending order, into those that are read at one go."""
        shards, numbers = self._shards.split(rows)
        parts: list[Ints] = []
        for shard in np.unique(shards).tolist():
            mine, opened = shards == shard, self._rows(shard)
            of_file = opened.by_member(numbers[mine]) if isinstance(opened, MemberRows) else [numbers[mine]]
            parts += [part + self._shards.starts[shard] for part in of_file]
        return parts

    def copy_once(self, part: Ints) -> RecordChunk:
        """Copy the records of a part into a chunk of their own, and keep nothing of the file for later."""
        shards, numbers = self._shards.split(part)
        opened = self._rows(int(shards[0]))
        if isinstance(opened, MemberRows):
            return opened.copy_of_member(numbers)
        return _core.RecordPool(opened.ask(numbers)().sound()).take(np.arange(len(numbers)))

    def decode(self, records: list[RecordChunk]) -> Batch:
        """Return records as columns."""
        return self._source.decoder.decode(records, allocate=self._source.allocate)

    def fetch_all(self, rows: Ints) -> Batch:
        """Return rows in the order in which they are named; damage raises."""
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
                shards.reading,
                self._window,
                self._members,
                self._requests,
            )
            opened = self._open.setdefault(shard, opened)
        return opened

    def _row_of(self, error: RecordError, rows: Ints) -> int:
        """Return which of some rows an error is about, the first where a file is named twice; raise it for none."""
        shards, record = self._shards, error.record
        if record is None:
            raise error
        for shard in [number for number, path in enumerate(shards.paths) if path == error.path]:
            index = shards.index(shard)
            place = index.row_of(record) if isinstance(index, SalvagedIndex) else record
            if place is not None and (row := int(shards.starts[shard]) + place) in rows:
                return row
        raise error


def open_source(
    paths: StrPath | Iterable[StrPath],
    schema: Schema | None,
    columns: Iterable[str] | None,
    on_error: OnBadRecord,
    reading: ReadOptions,
    split: str | None = None,
) -> RowSource:
    """Open the rows of what ``paths`` name; files are read when rows are."""
    resolved = resolve(paths, split)
    shards = Shards(resolved.paths, reading, resolved.counts)
    whole = resolved.describe(on_error) if schema is None else check_schema(schema)
    source = RowSource(shards, whole, None, on_error, strict=schema is None and not resolved.schemas)
    return source if columns is None else source.with_columns(names_in(columns))
