"""Writes a data set row by row or batch by batch, to all its shards at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

import numpy as np

from penstock import _core
from penstock.codec.encode_infer import infer_from_columns, infer_from_rows
from penstock.codec.encode_values import Float64, as_array
from penstock.codec.encoder import Block, Encoder
from penstock.columns import Batch
from penstock.dataset_writer.order import deal, permutation
from penstock.dataset_writer.progress import ProgressBar
from penstock.dataset_writer.sources import ColumnTable, Table, as_table
from penstock.dataset_writer.target import Target
from penstock.errors import SchemaError
from penstock.files import StrPath
from penstock.manifest import Manifest
from penstock.schema import Schema

FIRST_ROWS = 256
"""The most rows that a schema is inferred from."""

# Rows of about this size are gathered before they are written; a shuffle gathers more.
_BLOCK_BYTES, _BLOCK_ROWS = 8 << 20, 8192
_WINDOW_BYTES, _WINDOW_ROWS = 64 << 20, 65536


class Writer:
    """Write a data set from a stream: rows, batches, or both.

    >>> with ps.Writer("data/train", shards=4) as writer:
    ...     for i in range(1000):
    ...         writer.write({"label": i, "text": f"number {i}"})

    Shards have even sizes: blocks of rows are dealt to them in turn. Nothing stands under its name until all is
    written, and the manifest is written last; after an exception nothing is left. Memory is bounded: about 8 MB of
    rows, or 64 MB with ``shuffle``, and a few MB for each shard. For one thread at a time.

    Args:
        path: What the data set is called: ``data/train`` has the shards ``data/train-00000-of-00004.tfrecord`` ... and
            the manifest ``data/train.penstock.json``. Also a URL.
        schema: What the records hold; None infers it from the first batch, or from up to 256 rows.
        shards: How many files.
        compression: ``"GZIP"``, ``"ZLIB"`` or ``"SNAPPY"``; None for none.
        level: 0 to 9, for GZIP and ZLIB.
        shuffle: A seed. Rows are shuffled in windows of about 64 MB and at most 65,536 rows, each batch in itself.
        replace: Replace a data set of the same name; without, one that is there is an error.
        float64: What becomes of arrays of float64: ``"float32"`` rounds them, ``"raw"`` keeps them. None refuses them.
        progress: False shows no progress bar; None and True do where standard error is a terminal.
        sync: Closing waits until the shards are on the disk.
    """

    def __init__(
        self,
        path: StrPath,
        *,
        schema: Schema | None = None,
        shards: int = 1,
        compression: str | None = None,
        level: int = 2,
        shuffle: int | None = None,
        replace: bool = False,
        float64: Float64 | None = None,
        progress: bool | None = None,
        sync: bool = False,
    ) -> None:
        self._closed = True  # until there is something to close
        if shuffle is not None and not 0 <= shuffle < 1 << 64:
            raise ValueError(f"shuffle is a seed from 0 to 2**64 - 1, not {shuffle}")
        self._encoder = None if schema is None else Encoder(schema, float64=float64)
        self._inferred_from = ""
        self._float64 = float64
        self._shuffle = shuffle
        self._rows: list[Any] = []
        self._room = 0  # rows in a block; 0 until the first row was weighed
        self._written = self._blocks = 0
        self._running: list[Future[None]] = []
        self._target = Target(path, shards=shards, compression=compression, level=level, replace=replace, sync=sync)
        self._pool = ThreadPoolExecutor(min(shards, os.cpu_count() or 1), thread_name_prefix="penstock-write")
        self._progress = ProgressBar(progress, None)
        self._progress.__enter__()
        self._closed = False
        self._manifest: Manifest | None = None

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
        """Write one row: a mapping of names to values. Values are copied: they may change afterwards."""
        self._check_open()
        self._rows.append(_core.hold_row(row, _copy))
        if len(self._rows) >= self._room:
            self._write_rows()

    def write_batch(self, columns: Batch | Mapping[str, Any] | Any) -> None:
        """Write many rows: a mapping of names to columns of equal length, or a table or data frame."""
        self._check_open()
        self.write_table(as_table(columns) or ColumnTable(columns))

    def write_rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write many rows that do not change before the writer is closed: they are not copied."""
        self._check_open()
        self._rows += rows
        while self._rows and len(self._rows) >= self._room:
            self._write_rows()

    def write_table(self, table: Table) -> None:
        """Write a table; its memory may change afterwards."""
        self._write_rows(all_of_them=True)
        encoder = self._encoder or self._infer(infer_from_columns(table.sample(), self._float64), "the first batch")
        rows = table.num_rows
        step = rows if self._shuffle is not None else _BLOCK_ROWS
        for start in range(0, rows, max(1, step)):
            part = slice(start, min(rows, start + step))
            order = np.arange(part.start, part.stop) if self._shuffle is None else self._order(rows)
            columns = table.take(part if self._shuffle is None else order)
            with _explaining(self._inferred_from):
                block = encoder.columns_block(columns, len(order), (self._written - start + order).tolist())
            self._deal(block)
        self._wait()

    def close(self) -> None:
        """Write what is left, give the shards their names, and write the manifest."""
        if self._closed:
            return
        try:
            self._write_rows(all_of_them=True)
            self._wait()
            if self._encoder is None:
                raise SchemaError("there are no rows that tell a schema: pass one")
            self._manifest = self._target.commit(self._encoder.schema)
        except BaseException:
            self._give_up()
            raise
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

    def _write_rows(self, *, all_of_them: bool = False) -> None:
        """Write full blocks of the rows that have gathered."""
        try:
            while self._rows and (all_of_them or len(self._rows) >= self._room):
                if self._room == 0:
                    self._room = min(FIRST_ROWS, self._fitting(self._rows[:1]))
                    if len(self._rows) < self._room and not all_of_them:
                        return
                self._write_block(self._rows[: self._room])
                del self._rows[: self._room]
        except BaseException:
            self._give_up()
            raise

    def _write_block(self, rows: list[Any]) -> None:
        if self._encoder is None:
            schema = infer_from_rows(rows, self._float64)
            self._infer(schema, f"the first {len(rows)} rows")
        assert self._encoder is not None
        self._room = self._fitting(rows)
        numbers = np.arange(self._written, self._written + len(rows))
        if self._shuffle is not None:
            order = self._order(len(rows))
            numbers = numbers[order]
            rows = [rows[row] for row in order.tolist()]
        with _explaining(self._inferred_from):
            block = self._encoder.rows_block(rows, numbers.tolist())
        self._deal(block)

    def _deal(self, block: Block) -> None:
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

    def _order(self, rows: int) -> Any:
        assert self._shuffle is not None
        return permutation(self._shuffle, self._blocks, rows)

    def _infer(self, schema: Schema, source: str) -> Encoder:
        self._inferred_from = source
        self._encoder = Encoder(schema, float64=self._float64)
        return self._encoder

    def _fitting(self, rows: list[Any]) -> int:
        """Answer how many rows make a block, by the size of some of them."""
        some = rows[:: max(1, len(rows) // 16)]
        mean = max(1, sum(map(_weigh, some)) // len(some))
        size, most = (_BLOCK_BYTES, _BLOCK_ROWS) if self._shuffle is None else (_WINDOW_BYTES, _WINDOW_ROWS)
        return max(1, min(most, size // mean))

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
        self._progress.__exit__(None, None, None)
        self._rows = []


class _explaining:
    """Adds to an error about a value where the schema that it does not fit comes from."""

    def __init__(self, inferred_from: str) -> None:
        self._inferred_from = inferred_from

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SchemaError) and self._inferred_from:
            hint = f"the schema was inferred from {self._inferred_from}; pass schema=... for another"
            raise SchemaError(f"{error} ({hint})") from None


def _copy(value: Any) -> Any:
    """Copy what the native code does not know to be constant."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return _core.hold_row(dict(value), _copy)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, tuple):
        return tuple(map(_copy, value))
    if hasattr(value, "detach"):  # a torch tensor
        return as_array(value).copy()
    return value


def _weigh(value: Any) -> int:
    """Estimate the bytes of a row."""
    if isinstance(value, Mapping):
        return sum(map(_weigh, value.values()))
    if isinstance(value, list | tuple):
        return 8 * len(value) if not value or not isinstance(value[0], list | tuple) else sum(map(_weigh, value))
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    return int(getattr(value, "nbytes", 8))
