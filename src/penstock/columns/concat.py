"""Concatenate batches and columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock.columns.batch import Batch, with_paths
from penstock.columns.bytes_column import INLINE_BYTES, BytesColumn
from penstock.columns.column import AnyColumn, describe
from penstock.columns.nullable import Nullable
from penstock.columns.ragged import Ragged, offsets_of
from penstock.columns.stored_column import StoredColumn, plain


def concat(batches: Sequence[Batch]) -> Batch:
    """Concatenate batches that have the same columns: names, dtypes and the shapes of rows must agree."""
    if len(batches) == 1:
        return batches[0]
    names = batches[0].keys()
    for batch in batches:
        if batch.keys() != names:
            raise ValueError(f"batches have different columns: {sorted(names)} and {sorted(batch.keys())}")
    columns = {}
    for name in names:
        try:
            columns[name] = concat_columns([batch[name] for batch in batches])
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from error
    return with_paths(Batch(columns, num_rows=sum(batch.num_rows for batch in batches)), batches[0]._paths)


def concat_columns(columns: Sequence[AnyColumn]) -> AnyColumn:
    """Concatenate columns of one kind. If one is Nullable, or carries stored bytes, so does the result."""
    if any(isinstance(column, Nullable) for column in columns):
        values = [column.values if isinstance(column, Nullable) else column for column in columns]
        valid = [column.valid if isinstance(column, Nullable) else np.ones(len(column), bool) for column in columns]
        return Nullable(concat_columns(values), np.concatenate(valid))
    if any(isinstance(column, StoredColumn) for column in columns):
        rows = [column.rows if isinstance(column, StoredColumn) else [None] * len(column) for column in columns]
        return StoredColumn(concat_columns(list(map(plain, columns))), list(chain.from_iterable(rows)))
    first = columns[0]
    for column in columns:
        if _kind(column) != _kind(first):
            raise ValueError(f"cannot concatenate {describe(first)} and {describe(column)}")
    if isinstance(first, Ragged):
        return _concat_ragged(cast("Sequence[Ragged]", columns))
    if isinstance(first, BytesColumn):
        return _concat_bytes(cast("Sequence[BytesColumn]", columns))
    return np.concatenate(cast("Sequence[NDArray[Any]]", columns))


def _kind(column: AnyColumn) -> tuple[Any, ...]:
    if isinstance(column, BytesColumn):
        return BytesColumn, column.text, column.shape
    if isinstance(column, np.ndarray):
        return np.ndarray, column.dtype, column.shape[1:]
    return (type(column),)  # the values of ragged columns are compared when they are concatenated


def _concat_ragged(columns: Sequence[Ragged]) -> Ragged:
    values = [column.values[int(column.offsets[0]) : int(column.offsets[-1])] for column in columns]
    return Ragged(concat_columns(values), offsets_of(np.concatenate([column.lengths for column in columns])))


def _concat_bytes(columns: Sequence[BytesColumn]) -> BytesColumn:
    buffers: dict[int, NDArray[np.uint8]] = {}  # by identity: slices of one column share buffers
    parts = []
    for column in columns:
        for buffer in column.buffers:
            buffers.setdefault(id(buffer), buffer)
        numbers_of = {key: number for number, key in enumerate(buffers)}
        numbers = np.array([numbers_of[id(buffer)] for buffer in column.buffers], np.int32)
        parts.append(_with_buffer_numbers(column.views, numbers))
    first = columns[0]
    rows = sum(map(len, columns))
    return BytesColumn(np.concatenate(parts), [*buffers.values()], text=first.text, shape=first.shape, rows=rows)


def _with_buffer_numbers(views: NDArray[np.int32], new_numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    long = views[:, 0] > INLINE_BYTES
    numbers = views[long, 2]
    if (numbers < 0).any() or (numbers >= len(new_numbers)).any():
        raise ValueError("a view points into a buffer that does not exist")
    moved = views.copy()
    moved[long, 2] = new_numbers[numbers]
    return moved
