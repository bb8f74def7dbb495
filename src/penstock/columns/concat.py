"""Batches, one behind another, as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock.columns.batch import Batch
from penstock.columns.bytes_column import INLINE_BYTES, BytesColumn
from penstock.columns.column import AnyColumn, describe
from penstock.columns.nullable import Nullable
from penstock.columns.ragged import Ragged, offsets_of
from penstock.columns.stored_values import StoredColumn, plain


def concat(batches: Sequence[Batch]) -> Batch:
    """Join batches of the same columns: names, dtypes and the shapes of rows must agree."""
    if len(batches) == 1:
        return batches[0]
    names = batches[0].keys()
    for batch in batches:
        if batch.keys() != names:
            raise ValueError(f"batches of different columns: {sorted(names)} and {sorted(batch.keys())}")
    columns = {}
    for name in names:
        try:
            columns[name] = concat_columns([batch[name] for batch in batches])
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from error
    return Batch(columns, num_rows=sum(batch.num_rows for batch in batches))


def concat_columns(columns: Sequence[AnyColumn]) -> AnyColumn:
    """Join columns of one kind; where one of them is Nullable, or has stored bytes beside its values, all are."""
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
            raise ValueError(f"{describe(first)} and {describe(column)} do not make one column")
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
    return (type(column),)  # what is below a ragged level is compared when that is joined in turn


def _concat_ragged(columns: Sequence[Ragged]) -> Ragged:
    values = [column.values[int(column.offsets[0]) : int(column.offsets[-1])] for column in columns]
    return Ragged(concat_columns(values), offsets_of(np.concatenate([column.lengths for column in columns])))


def _concat_bytes(columns: Sequence[BytesColumn]) -> BytesColumn:
    buffers: dict[int, NDArray[np.uint8]] = {}  # by identity: parts of one column share theirs
    parts = []
    for column in columns:
        for buffer in column.buffers:
            buffers.setdefault(id(buffer), buffer)
        places = {key: place for place, key in enumerate(buffers)}
        moved = np.array([places[id(buffer)] for buffer in column.buffers], np.int32)
        parts.append(_with_buffers_moved(column.views, moved))
    first = columns[0]
    rows = sum(map(len, columns))
    return BytesColumn(np.concatenate(parts), [*buffers.values()], text=first.text, shape=first.shape, rows=rows)


def _with_buffers_moved(views: NDArray[np.int32], places: NDArray[np.int32]) -> NDArray[np.int32]:
    long = views[:, 0] > INLINE_BYTES
    numbers = views[long, 2]
    if (numbers < 0).any() or (numbers >= len(places)).any():
        raise ValueError("a view points into a buffer that is not there")
    moved = views.copy()
    moved[long, 2] = places[numbers]
    return moved
