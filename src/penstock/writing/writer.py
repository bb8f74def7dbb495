"""Writes a dataset row by row or batch by batch, to all its shards at once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

from penstock import _core
from penstock.codec.encode_rows import Gatherer, copy_value
from penstock.codec.encode_values import Float64
from penstock.codec.encoder import EncodedRows, Encoder, schema_error
from penstock.codec.schema_from_data import infer_from_columns, infer_from_rows
from penstock.columns import Batch
from penstock.errors import RowFault, SchemaError
from penstock.manifest import Manifest
from penstock.parallel import available_cpus
from penstock.progress import ProgressBar
from penstock.schema import Feature, Schema
from penstock.storage import StrPath
from penstock.writing.engine import check_seed, deal, permutation
from penstock.writing.inputs import ColumnTable, Table, as_table
from penstock.writing.target import Target

FIRST_ROWS = 256
"""The most rows that a schema is inferred from."""
FIRST_BYTES = 4 << 20
"""Rows of this size are enough to infer a schema from."""
# Rows of about this size are gathered before they are written; a shuffle gathers more.
_BLOCK_BYTES, _BLOCK_ROWS = 4 << 20, 8192
_WINDOW_BYTES, _WINDOW_ROWS = 64 << 20, 65536


class Writer:
    """Write a dataset from a stream: rows, batches, or both.

    >>> with ps.Writer("data/train", shards=4) as writer:
    ...     for i in range(1000):
    ...         writer.write({"label": i, "text": f"number {i}"})

    Shards have even sizes: blocks of rows are dealt to them in turn. Nothing stands under its name until all is
    written, and the manifest is written last; after an exception nothing is left. Memory is bounded: about 4 MB of
    rows, or 64 MB with ``shuffle``, and a few MB for each shard. For one thread at a time.

    Args:
        path: What the dataset is called: ``data/train`` has the shards ``data/train-00000-of-00004.tfrecord`` ... and
            the manifest ``data/train.penstock.json``. Also a URL.
        schema: What the records hold; None infers it from the first batch, or from up to 256 rows.
        shards: How many files.
        shard: Write this one of the shards alone, as one of several processes; :func:`commit` then makes them a dataset
            .
        compression: ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"`` or ``""`` (none).
        level: 0 to 9, for GZIP and ZLIB.
        shuffle: A seed. Rows are shuffled in windows of about 64 MB and at most 65,536 rows, each batch in itself.
        replace: Replace a dataset of the same name; without, one that is there is an error.
        float64: What becomes of arrays of float64: ``"float32"`` rounds them, ``"raw"`` keeps them. None refuses them.
        progress: Show a progress bar where standard error is a terminal.
        sync: Closing waits until the shards are on the disk.
    """

    _closed = True  # until there is something to close

    def __init__(
        self,
        path: StrPath,
        *,
        schema: Schema | None = None,
        shards: int = 1,
        shard: int | None = None,
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
        self._encoder: Encoder | None = None
        self._gatherer: Gatherer | None = None
        self._add: Callable[[Any], None] | None = None
        self._inferred_from = ""
        self._known: Mapping[str, Feature] = {}
        self._float64 = float64
        self._shuffle = shuffle
        plain = shuffle is None
        self._block_bytes, self._block_rows = (_BLOCK_BYTES, _BLOCK_ROWS) if plain else (_WINDOW_BYTES, _WINDOW_ROWS)
        self._first: list[Any] = []  # rows that a schema will be inferred from
        self._first_bytes = 0
        self._unweighed = 1  # rows that may come before the size of all is looked at
        self._written = self._blocks = 0
        self._row_numbers: Sequence[int] | None = None
        if schema is not None:
            self._start(schema)
        self._running: list[Future[None]] = []
        self._target = Target(
            path, shards=shards, shard=shard, compression=compression, level=level, replace=replace, sync=sync
        )
        threads = min(len(self._target.shards), available_cpus())
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="penstock-write")
        self._progress = ProgressBar("writing", None, "rows", show=progress)
        self._progress.__enter__()
        self._closed = False
        self._manifest: Manifest | None = None

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<Writer of {os.fspath(self._path)!r}, {self._written:,} rows written, {state}>"

    @property
    def manifest(self) -> Manifest:
        """What was written; known when the writer is closed."""
        if self._manifest is None:
            raise ValueError("the manifest is known when the writer is closed")
        return self._manifest

    @property
    def schema(self) -> Schema | None:
        """What the records hold; None before it is known."""
        return None if self._encoder is None else self._encoder.schema

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one row: a mapping of names to values, which may change afterwards."""
        if self._add is None:
            self._look_at([row])
            return
        try:
            self._add(row)
        except BaseException as error:
            raise self._failure(error) from None
        self._unweighed -= 1
        if not self._unweighed:
            self._weigh()

    def write_batch(self, columns: Batch | Mapping[str, Any] | Any) -> None:
        """Write many rows: a mapping of names to columns of equal length, or a table or data frame.

        Their memory may change afterwards.
        """
        self._write_table(as_table(columns) or ColumnTable(columns))

    def write_rows(self, rows: list[Any]) -> None:
        """Write many rows, which may change afterwards."""
        start = self._look_at(rows) if self._gatherer is None else 0
        while self._gatherer is not None and start < len(rows):
            try:
                start = self._gatherer.extend(rows, start, self._block_bytes, self._block_rows)
            except BaseException as error:
                raise self._failure(error) from None
            self._weigh()

    def close(self) -> None:
        """Write what is left, give the shards their names, and write the manifest."""
        if self._closed:
            return
        try:
            self._write_gathered()
            self._wait()
            if self._encoder is None:
                raise SchemaError("there are no rows that tell a schema: pass one")
            self._manifest = self._target.commit(self._encoder.schema)
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
            self._give_up()

    def __del__(self) -> None:
        if not self._closed:
            self._give_up()
            warnings.warn(
                f"the Writer for {self._path} was not closed; nothing is left", ResourceWarning, 2, source=self
            )

    def _look_at(self, rows: list[Any]) -> int:
        """Keep rows that a schema will be inferred from; return how many."""
        self._check_open()
        try:
            for taken, row in enumerate(rows, 1):
                self._first.append(_core.hold_row(row, copy_value))
                self._first_bytes += weigh(row)
                if len(self._first) == FIRST_ROWS or self._first_bytes >= self._block_bytes:
                    self._infer()
                    return taken
        except BaseException as error:
            raise self._failure(error) from None
        return len(rows)

    def _infer(self) -> None:
        rows, self._first = self._first, []
        self._start(
            infer_from_rows(rows, self._float64), f"the first {len(rows)} rows" if len(rows) > 1 else "the first row"
        )
        self.write_rows(rows)

    def _start(self, schema: Schema, inferred_from: str = "") -> None:
        self._inferred_from = inferred_from
        if inferred_from and self._known:
            known = {name: self._known.get(name, feature) for name, feature in schema.items()}
            schema = Schema(
                {
                    name: feature.replace(optional=feature.optional or schema[name].optional)
                    for name, feature in known.items()
                }
            )
        self._encoder = Encoder(schema, float64=self._float64)
        self._gatherer = self._encoder._gatherer()
        self._add = self._gatherer.add

    def _write_table(self, table: Table) -> None:
        self._check_open()
        try:
            self._write_gathered()
            if self._encoder is None:
                self._start(infer_from_columns(table.sample(), self._float64), "the first batch")
            assert self._encoder is not None
            rows = table.num_rows
            step = max(1, rows if self._shuffle is not None else self._block_rows)
            for start in range(0, rows, step):
                part = slice(start, min(rows, start + step))
                numbers = range(self._written, self._written + part.stop - start)
                if self._shuffle is None:
                    block = self._encoder._block(table.take(part), len(numbers), numbers)
                else:
                    order = permutation(self._shuffle, self._blocks, rows)
                    block = self._encoder._block(table.take(order), rows, (self._written + order).tolist())
                self._deal(block)
            self._wait()
        except BaseException as error:
            raise self._failure(error) from None

    def _weigh(self) -> None:
        """Write the rows that have gathered, where they are enough."""
        assert self._gatherer is not None
        rows, size = len(self._gatherer), self._gatherer.nbytes
        if rows >= self._block_rows or size >= self._block_bytes:
            try:
                self._write_gathered()
            except BaseException as error:
                raise self._failure(error) from None
            rows = size = 0
        # By what they weigh so far, half of the rows that may still come are let in before the next look.
        left = self._block_rows - rows
        if size:
            left = min(left, (self._block_bytes - size) * rows // size // 2)
        self._unweighed = max(1, min(left, 256))

    def _write_gathered(self) -> None:
        if self._first:
            self._infer()
        if not self._gatherer:
            return
        assert self._encoder is not None
        rows = len(self._gatherer)
        columns: Any = self._gatherer.take()
        numbers = self._numbers(rows)
        if self._shuffle is not None:
            order = permutation(self._shuffle, self._blocks, rows)
            columns = ColumnTable(columns).take(order)
            numbers = [numbers[row] for row in order.tolist()]
        self._deal(self._encoder._block(columns, rows, numbers))

    def _deal(self, block: EncodedRows) -> None:
        """Let every shard write its part of a block, while the next one is prepared."""
        bounds = deal(self._written, block.rows, len(self._target.shards))
        self._wait()
        self._running = [
            self._pool.submit(shard.write, block, first, stop)
            for shard, first, stop in zip(self._target.shards, bounds, bounds[1:], strict=False)
            if first < stop
        ]
        self._written += block.rows
        self._blocks += 1
        self._progress.advance(block.rows)

    def _wait(self) -> None:
        running, self._running = self._running, []
        for future in running:
            future.result()

    def _failure(self, error: BaseException) -> BaseException:
        """Give up, and answer what to raise: an error about a value says where the schema comes from."""
        if isinstance(error, RowFault):
            row = self._numbers(error.row + 1)[error.row]
            error = schema_error(RowFault(row, error.message, error.feature))
        if isinstance(error, SchemaError) and self._inferred_from and not self._closed:
            hint = f"the schema was inferred from {self._inferred_from}; pass schema=... for another"
            error = SchemaError(f"{error} ({hint})")
        self._give_up()
        return error

    def _numbers(self, count: int) -> Sequence[int]:
        """Return what errors call the next rows."""
        rows = range(self._written, self._written + count)
        return rows if self._row_numbers is None else self._row_numbers[rows.start : rows.stop]

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the writer is closed")

    def _give_up(self) -> None:
        if self._closed:
            return
        self._end()
        self._target.abort()

    def _end(self) -> None:
        self._closed = True
        self._pool.shutdown(cancel_futures=True)
        self._progress.close()
        self._first, self._gatherer, self._add = [], None, None


def number_rows(writer: Writer, numbers: Sequence[int] | None) -> None:
    """Say what errors call the rows, where a caller has put them in another order than their own."""
    writer._row_numbers = numbers


def begin(writer: Writer, schema: Schema, inferred_from: str) -> None:
    """Give a writer the schema that its first rows or batch were found to have."""
    writer._start(schema, inferred_from)


def know_features(writer: Writer, features: Mapping[str, Feature]) -> None:
    """Say what some columns hold, where the schema is inferred and their values do not tell."""
    writer._known = features


def weigh(value: Any) -> int:
    """Estimate the bytes of a row or of a value."""
    if isinstance(value, Mapping):
        return sum(map(weigh, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(weigh, value))
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    return int(getattr(value, "nbytes", 8))
