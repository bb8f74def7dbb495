"""Orders that depend on the values of key columns: the keys are read as columns, and 8 bytes a row stay in memory."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns import AnyColumn, Batch, BytesColumn, Nullable, concat
from penstock.dataset.block import as_batch, start_of
from penstock.dataset.order import Epoch, Ints, Order, RowKeys, WrappedOrder, finite_length
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows
from penstock.schema.schema import keep_images_encoded

# Rows of keys that are read at a time.
_KEY_ROWS = 8192
_NONE: Ints = np.zeros(0, np.int64)


class Arrangement(ABC):
    """What happens to rows by their keys: it chooses positions, once, in one or several parts."""

    columns: tuple[str, ...] | None
    """The key columns; None: all."""
    call: str
    """The method call as text."""
    is_fixed = False
    """Whether the rows of a part, and their order, are those of the first epoch in all epochs."""

    @abstractmethod
    def positions(self, keys: Batch) -> Sequence[Ints]:
        """Return the positions of the rows of each part, in their new order."""

    @abstractmethod
    def describe(self) -> list[Any]:
        """Return in JSON what decides the positions. Saved states compare it."""


def arrange(pipeline: Pipeline, verb: str, arrangement: Arrangement, parts: int = 1) -> list[Pipeline]:
    """Return a pipeline for each part of the rows that an arrangement makes."""
    start = pipeline.start
    if not isinstance(start, ReadRows) or start.batches is not None or not all(s.one_to_one for s in pipeline.stages):
        raise TypeError(
            f"{verb} needs elements with an index: it comes before batch(), bucket(), unbatch(), cache(), filter() "
            "with a function without columns=, and before datasets are joined"
        )
    if arrangement.columns is not None and pipeline.schema_of_elements is not None:
        pipeline.schema_of_elements.select(arrangement.columns)  # raises for an unknown name
    rows = ArrangedRows(pipeline, arrangement)
    ordered = [replace(start, rows=KeyOrder(start.rows, rows, part), filters=()) for part in range(parts)]
    return [pipeline.with_start(part) for part in ordered]


class ArrangedRows:
    """The rows of each part, found by reading the keys once for an epoch. Pickled, it has read nothing."""

    def __init__(self, pipeline: Pipeline, arrangement: Arrangement) -> None:
        self.pipeline, self.arrangement = pipeline, arrangement
        self._found: tuple[Epoch, list[RowKeys]] | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.pipeline, self.arrangement)

    def of(self, which: Epoch, part: int) -> RowKeys:
        """Return the rows of a part in an epoch, with the epochs that they are read in, counted from this one."""
        start = self.pipeline.start
        assert isinstance(start, ReadRows)
        is_fixed = start.rows.run is not None and not start.filters and not self.pipeline.stages
        if is_fixed or self.arrangement.is_fixed:
            which = Epoch()
        with self._lock:
            if self._found is None or self._found[0] != which:
                self._found = which, self._arrange(start, which)
            return self._found[1][part]

    def _arrange(self, start: ReadRows, which: Epoch) -> list[RowKeys]:
        if not start.filters:
            finite_length(start.rows, which, self.arrangement.call)
        keys, batch = self._read(start, which)
        parts = self.arrangement.positions(batch)
        later = keys.epochs - which.epoch
        return [RowKeys(keys.rows[part], later[part] if later.any() else _NONE) for part in parts]

    def _read(self, start: ReadRows, which: Epoch) -> tuple[RowKeys, Batch]:
        source, names = start.source, self.arrangement.columns
        if names == () and not start.filters:
            length = finite_length(start.rows, which, self.arrangement.call)
            return start.rows.at(np.arange(length), which), Batch({}, num_rows=length)
        if not self.pipeline.stages:
            source = source.with_schema(keep_images_encoded(source.schema))
            source = source if names is None else source.with_columns(names)
        reads = replace(start, source=source, size=_KEY_ROWS)
        cursor = start_of(which.epoch) | {"origin": which.origin}
        rows: list[Ints] = [_NONE]
        epochs: list[Ints] = [_NONE]
        parts: list[Batch] = []
        with closing(self.pipeline.with_start(reads).open(cursor, Meter())) as blocks:
            for block in blocks:
                keys = as_batch(block.elements)
                chosen = keys.column_names if names is None else names
                # Texts would keep the records alive that they are views of.
                parts.append(Batch({name: _compact(keys[name]) for name in chosen}, num_rows=len(block)))
                rows.append(block.keys.rows)
                epochs.append(block.keys.epochs)
        batch = concat(parts) if parts else Batch({name: [] for name in names or ()}, num_rows=0)
        return RowKeys(np.concatenate(rows), np.concatenate(epochs)), batch


class KeyOrder(WrappedOrder):
    """One part of the rows that an arrangement makes."""

    def __init__(self, inner: Order, rows: ArrangedRows, part: int) -> None:
        super().__init__(inner)
        self._rows, self._part = rows, part

    def length(self, which: Epoch) -> int:
        return len(self._rows.of(which, self._part).rows)

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        rows, later = self._rows.of(which, self._part)
        epochs = np.full(len(positions), which.epoch, np.int64)
        return RowKeys(rows[positions], epochs + later[positions] if len(later) else epochs)

    @property
    def seeks(self) -> bool:
        return True

    @property
    def calls(self) -> list[str]:
        start = self._rows.pipeline.start
        assert isinstance(start, ReadRows)
        tests = [call for filter_ in start.filters for call in filter_.test.calls]
        part = f"[{self._part}]" if self._part else ""
        return [*self.inner.calls, *tests, self._rows.arrangement.call + part]

    def describe(self) -> list[Any]:
        # Stages after the reads decide the keys, too.
        return [*self._rows.pipeline.describe(), [*self._rows.arrangement.describe(), self._part]]


def _compact(column: AnyColumn) -> AnyColumn:
    if isinstance(column, Nullable):
        return Nullable(_compact(column.values), column.valid)
    return column.compact() if isinstance(column, BytesColumn) else column.copy()


def scalar_codes(name: str, column: AnyColumn, verb: str) -> NDArray[np.int64]:
    """Return numbers that compare like the values of a column; absent values are the largest, after NaN.

    Raises:
        TypeError: The rows hold several values.
    """
    if isinstance(column, Nullable):
        codes = np.full(len(column), np.iinfo(np.int64).max)
        codes[column.valid] = scalar_codes(name, column.values[column.valid], verb)
        return codes
    if isinstance(column, BytesColumn) and not column.shape:
        values: NDArray[Any] = BytesColumn(column.views, column.buffers).to_numpy()
    elif isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype != object:
        values = column.astype(np.float32) if column.dtype.kind == "V" else column
    else:
        raise TypeError(f"{verb} needs columns of single values: the rows of {name!r} hold several")
    _, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64).reshape(len(values))


def value_codes(name: str, column: AnyColumn) -> NDArray[np.int64]:
    """Return numbers that are equal where values are, whatever they are: lists and arrays by a digest of 16 bytes."""
    try:
        return scalar_codes(name, column, "")
    except TypeError:
        pass
    digests = [_digest(value) for value in column]
    _, codes = np.unique(np.array(digests, object), return_inverse=True)
    return codes.astype(np.int64).reshape(len(digests))


def _digest(value: Any) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    if value is None:
        return b""
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype} {value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    else:
        listed = value.to_list() if hasattr(value, "to_list") else value.tolist() if hasattr(value, "tolist") else value
        digest.update(repr(listed).encode("utf-8", "surrogateescape"))
    return digest.digest()
