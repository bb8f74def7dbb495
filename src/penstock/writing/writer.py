"""Writes a dataset row by row or batch by batch: rows are gathered, encoded in blocks, and sent to shards."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec.encode_rows import Gatherer, copy_value
from penstock.codec.encode_values import Float64
from penstock.codec.encoder import EncodedRows, Encoder, schema_error
from penstock.codec.schema_from_data import infer_from_columns, infer_from_rows
from penstock.columns import Batch
from penstock.errors import RowFault, SchemaError
from penstock.manifest import Manifest
from penstock.progress import ProgressBar
from penstock.schema import Feature, Schema
from penstock.storage import StrPath
from penstock.writing.commit import PartDestination
from penstock.writing.destination import Destination
from penstock.writing.engine import WriteEngine, check_seed, permutation
from penstock.writing.inputs import ColumnTable, Table, as_table
from penstock.writing.layout import check_shard_sizes, open_destination, open_layout
from penstock.writing.shard_writer import RowBlock

FIRST_ROWS = 256
"""The most rows that a schema is inferred from."""
FIRST_BYTES = 4 << 20
"""Rows of this size are enough to infer a schema from."""
# Rows of about this size are gathered before they are written; a shuffle gathers more.
_BLOCK_BYTES, _BLOCK_ROWS = 4 << 20, 8192
_WINDOW_BYTES, _WINDOW_ROWS = 64 << 20, 65536


class Writer:
    """Write a dataset from a stream: rows, batches, or both.

    >>> with ps.Writer("numbers", shards=4) as writer:
    ...     for i in range(1000):
    ...         writer.write({"label": i, "text": f"number {i}"})
    >>> writer.manifest
    <Manifest of 1,000 records in 4 shards, 58,762 bytes: label, text>

    Rows keep their order over the shards. Nothing is visible under its name until everything is written, and the
    manifest is written last; after an exception nothing is left. Memory is bounded: about 4 MB of rows, or 64 MB with
    ``shuffle``, and a few MB for each shard. With ``shards=4`` where each shard ends is only known at the end: until
    then, rows are in temporary files next to the dataset. For one thread at a time.

    Args:
        path: The name of the dataset: ``data/train`` has the shards ``data/train-00000-of-00004.tfrecord`` ... and the
            manifest ``data/train.penstock.json``. Also a URL.
        schema: What the records hold; None infers it from the first batch, or from up to 256 rows.
        shards: The number of files, 1 by default.
        rows_per_shard: Rows in each file, instead of ``shards``; the last one has the rest.
        shard_bytes: Size of each file before compression, instead of ``shards``: bytes, or ``"256MB"``. A file ends
            with the row that brings it to this size.
        part: Write a part of the dataset, one of any number, under this name or number; :func:`commit` makes a dataset
            of the parts.
        compression: ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"`` or ``""`` (none).
        level: 0 to 9, for GZIP and ZLIB.
        shuffle: A seed. Rows are shuffled in windows of about 64 MB and at most 65,536 rows, each batch in itself, and
            dealt to all shards.
        replace: Replace a dataset of the same name; without, it is an error if there is one.
        float64: How arrays of float64 are stored: ``"float32"`` rounds them, ``"raw"`` keeps them. None raises an
            error.
        progress: Show a progress bar where standard error is a terminal.
        sync: Closing waits until the shards are on the disk.
    """

    _closed = True  # until there is something to close

    def __init__(
        self,
        path: StrPath,
        *,
        schema: Schema | None = None,
        shards: int | None = None,
        rows_per_shard: int | None = None,
        shard_bytes: int | str | None = None,
        part: str | int | None = None,
        compression: str | None = "",
        level: int = 2,
        shuffle: int | None = None,
        replace: bool = False,
        float64: Float64 | None = None,
        progress: bool = True,
        sync: bool = False,
    ) -> None:
        self._path = path
        check_seed(shuffle)
        self._shard_sizes = check_shard_sizes(shards, rows_per_shard, shard_bytes)
        self._encoder: Encoder | None = None
        self._gatherer: Gatherer | None = None
        self._add: Callable[[Any], None] | None = None
        self._inferred_from = ""
        self._known_features: Mapping[str, Feature] = {}
        self._float64 = float64
        self._shuffle = shuffle
        plain = shuffle is None
        self._block_bytes, self._block_rows = (_BLOCK_BYTES, _BLOCK_ROWS) if plain else (_WINDOW_BYTES, _WINDOW_ROWS)
        self._first_rows: list[Any] = []  # rows that a schema will be inferred from
        self._first_bytes = 0
        self._rows_until_check = 1  # rows that may come before their size is checked
        self._written = self._blocks = 0
        self._num_rows: int | None = None
        self._row_numbers: Sequence[int] | None = None
        self._deals = shuffle is not None
        if schema is not None:
            self._start(schema)
        if part is not None and replace:
            raise ValueError("parts replace nothing: pass replace=True to commit()")
        self._destination = self._open_destination(
            path, part, compression=compression, level=level, replace=replace, sync=sync
        )
        self._engine: WriteEngine | None = None
        self._shows_progress = progress
        self._progress: ProgressBar | None = None
        self._closed = False
        self._manifest: Manifest | None = None

    def _open_destination(self, path: StrPath, part: str | int | None, *, replace: bool, **options: Any) -> Destination:
        if part is not None:
            return PartDestination(path, part, **options)
        return open_destination(path, self._shard_sizes, replace=replace, **options)

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<Writer of {os.fspath(self._path)!r}, {self._written:,} rows written, {state}>"

    @property
    def manifest(self) -> Manifest:
        """The manifest of the dataset, or of the part; known when the writer is closed.

        >>> with ps.Writer("three") as writer:
        ...     writer.write_rows([{"x": 1}, {"x": 2}, {"x": 3}])
        >>> writer.manifest.records
        3
        """
        if self._manifest is None:
            raise ValueError("the manifest is known when the writer is closed")
        return self._manifest

    @property
    def schema(self) -> Schema | None:
        """What the records hold; None before it is known.

        >>> with ps.Writer("typed", schema=ps.Schema({"x": int})) as writer:
        ...     print(list(writer.schema))
        ['x']
        """
        return None if self._encoder is None else self._encoder.schema

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one row: a mapping of names to values, which may change afterwards.

        >>> with ps.Writer("rows") as writer:
        ...     writer.write({"label": 7, "tokens": [1, 2, 3]})
        """
        if self._add is None:
            self._hold_first_rows([row])
            return
        try:
            self._add(row)
        except BaseException as error:
            raise self._failure(error) from None
        self._rows_until_check -= 1
        if not self._rows_until_check:
            self._write_if_full()

    def write_batch(self, columns: Batch | Mapping[str, Any] | Any) -> None:
        """Write many rows: a mapping of names to columns of equal length, or a table or data frame.

        Their memory may change afterwards.

        >>> with ps.Writer("batches") as writer:
        ...     writer.write_batch({"label": np.arange(100)})
        """
        self._write_table(as_table(columns) or ColumnTable(columns))

    def write_rows(self, rows: list[Any]) -> None:
        """Write many rows, which may change afterwards.

        >>> with ps.Writer("lists") as writer:
        ...     writer.write_rows([{"label": 7}, {"label": 8}])
        """
        start = self._hold_first_rows(rows) if self._gatherer is None else 0
        while self._gatherer is not None and start < len(rows):
            try:
                start = self._gatherer.extend(rows, start, self._block_bytes, self._block_rows)
            except BaseException as error:
                raise self._failure(error) from None
            self._write_if_full()

    def close(self) -> None:
        """Write what is left, give the shards their names, and write the manifest.

        >>> writer = ps.Writer("closed")
        >>> writer.write({"label": 7})
        >>> writer.close()
        """
        if self._closed:
            return
        try:
            self._write_gathered()
            if self._encoder is None:
                raise SchemaError("there are no rows to infer a schema from: pass schema=...")
            self._manifest = self._destination.commit(self._open_engine().close(), self._encoder.schema)
        except BaseException as error:
            raise self._failure(error) from None
        self._end()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        elif not self._closed:
            self._abort()

    def __del__(self) -> None:
        if not self._closed:
            self._abort()
            warnings.warn(
                f"the Writer for {self._path} was not closed; nothing is left", ResourceWarning, 2, source=self
            )

    def _hold_first_rows(self, rows: list[Any]) -> int:
        """Hold rows back until there are enough to infer a schema from; return how many were taken."""
        self._check_open()
        try:
            for taken, row in enumerate(rows, 1):
                self._first_rows.append(_core.hold_row(row, copy_value))
                self._first_bytes += estimate_bytes(row)
                if len(self._first_rows) == FIRST_ROWS or self._first_bytes >= self._block_bytes:
                    self._infer()
                    return taken
        except BaseException as error:
            raise self._failure(error) from None
        return len(rows)

    def _infer(self) -> None:
        rows, self._first_rows = self._first_rows, []
        self._start(
            infer_from_rows(rows, self._float64), f"the first {len(rows)} rows" if len(rows) > 1 else "the first row"
        )
        self.write_rows(rows)

    def _start(self, schema: Schema, inferred_from: str = "") -> None:
        self._inferred_from = inferred_from
        if inferred_from and self._known_features:
            known = {name: self._known_features.get(name, feature) for name, feature in schema.items()}
            optional = {name for name, feature in schema.items() if feature.optional}
            schema = Schema({name: f.replace(optional=f.optional or name in optional) for name, f in known.items()})
        self._encoder = Encoder(schema, float64=self._float64)
        self._gatherer = self._encoder._gatherer()
        self._add = self._gatherer.add

    def _write_table(self, table: Table) -> None:
        self._check_open()
        try:
            self._write_gathered()
            if self._encoder is None:
                # Later batches may have further classes, which would have no number.
                known = {name: facts for name, facts in table.known.items() if "names" not in facts}
                self._start(infer_from_columns(table.sample(), self._float64, known), "the first batch")
            assert self._encoder is not None
            rows = table.num_rows
            step = max(1, rows if self._shuffle is not None else self._block_rows)
            for start in range(0, rows, step):
                stop = min(rows, start + step)
                if self._shuffle is None:
                    block = _block(self._encoder, table, slice(start, stop), self._written - start)
                else:
                    block = _block(self._encoder, table, permutation(self._shuffle, self._blocks, rows), self._written)
                self._send(block)
            if self._engine is not None:
                self._engine.wait()  # the memory of the table may change from here on
        except BaseException as error:
            raise self._failure(error) from None

    def _write_if_full(self) -> None:
        """Write the gathered rows if they fill a block."""
        assert self._gatherer is not None
        rows, size = len(self._gatherer), self._gatherer.nbytes
        if rows >= self._block_rows or size >= self._block_bytes:
            try:
                self._write_gathered()
            except BaseException as error:
                raise self._failure(error) from None
            rows = size = 0
        # Check again after half of the rows that would fill the block, judging by the size of those so far.
        left = self._block_rows - rows
        if size:
            left = min(left, (self._block_bytes - size) * rows // size // 2)
        self._rows_until_check = max(1, min(left, 256))

    def _write_gathered(self) -> None:
        if self._first_rows:
            self._infer()
        if not self._gatherer:
            return
        assert self._encoder is not None
        rows = len(self._gatherer)
        columns: Any = self._gatherer.take()
        numbers = self._next_row_numbers(rows)
        if self._shuffle is not None:
            order = permutation(self._shuffle, self._blocks, rows)
            columns = ColumnTable(columns).take(order)
            numbers = [numbers[row] for row in order.tolist()]
        self._send(self._encoder._block(columns, rows, numbers))

    def _send(self, block: RowBlock) -> None:
        """Write a block while the next one is prepared."""
        self._open_engine().add(block)
        self._written += block.rows
        self._blocks += 1

    def _open_engine(self) -> WriteEngine:
        if self._engine is None:
            layout = open_layout(self._destination, self._shard_sizes, num_rows=self._num_rows, deal=self._deals)
            self._progress = ProgressBar("writing", self._num_rows, "rows", show=self._shows_progress)
            self._progress.__enter__()
            self._engine = WriteEngine(self._destination, layout, self._progress)
        return self._engine

    def _failure(self, error: BaseException) -> BaseException:
        """Abort, and return the error to raise: one about a value says where the schema comes from."""
        if isinstance(error, RowFault):
            row = self._next_row_numbers(error.row + 1)[error.row]
            error = schema_error(RowFault(row, error.message, error.feature))
        if isinstance(error, SchemaError) and self._inferred_from and not self._closed:
            hint = f"the schema was inferred from {self._inferred_from}; pass schema=... for another"
            error = SchemaError(f"{error} ({hint})")
        self._abort()
        return error

    def _next_row_numbers(self, count: int) -> Sequence[int]:
        """Return the numbers that errors use for the next rows."""
        rows = range(self._written, self._written + count)
        return rows if self._row_numbers is None else self._row_numbers[rows.start : rows.stop]

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the writer is closed")

    def _abort(self) -> None:
        if self._closed:
            return
        if self._engine is not None:
            self._engine.abort()
        self._end()
        self._destination.abort()

    def _end(self) -> None:
        self._closed = True
        if self._progress is not None:
            self._progress.close()
        self._engine = None
        self._first_rows, self._gatherer, self._add = [], None, None


def expect(
    writer: Writer,
    *,
    num_rows: int | None = None,
    row_numbers: Sequence[int] | None = None,
    features: Mapping[str, Feature] | None = None,
) -> None:
    """Give a new writer what is known about the rows that will come.

    Args:
        writer: The writer.
        num_rows: How many there are.
        row_numbers: How errors name the rows, where they come in another order than their own.
        features: What some columns hold, for a schema that is inferred from values that do not show it.
    """
    writer._num_rows, writer._row_numbers, writer._known_features = num_rows, row_numbers, features or {}


def write_whole(writer: Writer, table: Table, order: NDArray[np.int64] | None) -> None:
    """Write a table that is the whole dataset, in its order or another one, several shards at once."""
    expect(writer, num_rows=table.num_rows)
    writer._deals = False
    try:
        if writer._encoder is None:
            writer._start(infer_from_columns(table.sample(), writer._float64, table.known))
        encoder = writer._encoder
        assert encoder is not None

        def take(first: int, stop: int) -> EncodedRows:
            return _block(encoder, table, slice(first, stop) if order is None else order[first:stop], 0)

        writer._open_engine().add_table(table.num_rows, take)
        writer._written = table.num_rows
    except BaseException as error:
        raise writer._failure(error) from None


def write_block(writer: Writer, block: RowBlock) -> None:
    """Write rows that are ready to be framed."""
    try:
        writer._send(block)
    except BaseException as error:
        raise writer._failure(error) from None


def begin(writer: Writer, schema: Schema, inferred_from: str) -> None:
    """Give a writer the schema that was inferred from its first rows or its first batch."""
    writer._start(schema, inferred_from)


def _block(encoder: Encoder, table: Table, rows: slice | NDArray[np.int64], first: int) -> EncodedRows:
    """Make a block of some rows of a table whose row 0 errors call ``first``."""
    if isinstance(rows, slice):
        numbers: Sequence[int] = range(first + rows.start, first + rows.stop)
    else:
        numbers = (first + rows).tolist()
    return encoder._block(table.take(rows), len(numbers), numbers)


def estimate_bytes(value: Any) -> int:
    """Estimate the bytes of a row or of a value."""
    if isinstance(value, Mapping):
        return sum(map(estimate_bytes, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(estimate_bytes, value))
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    return int(getattr(value, "nbytes", 8))
