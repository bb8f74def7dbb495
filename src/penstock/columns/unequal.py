"""Arrays of unequal shapes, one in each row, as the nested lists that Arrow has for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns.bytes_column import BytesColumn
from penstock.columns.collate import collate
from penstock.columns.column import AnyColumn
from penstock.columns.nullable import Nullable
from penstock.columns.ragged import Ragged


def is_unequal(column: AnyColumn) -> bool:
    """Whether the rows of a column are arrays of their own."""
    values = column.values if isinstance(column, Nullable) else column
    return isinstance(values, np.ndarray) and values.dtype == object


def as_nested_lists(column: AnyColumn, empty: NDArray[Any] | None = None) -> AnyColumn:
    """Answer arrays of unequal shapes as a column with a ragged level for each dimension.

    >>> as_nested_lists(np.array([np.ones((1, 2), int), np.zeros((2, 1), int)], object)).to_list()
    [[[1, 1]], [[0], [0]]]

    Args:
        column: Of dtype object; rows that are absent may hold anything.
        empty: An array without values, of the dtype and number of dimensions of all rows; None: as the rows are.
    """
    if isinstance(column, Nullable):
        rows = column.fill(None)
        return Nullable(as_nested_lists(rows, empty), column.valid)
    arrays = [row for row in column if isinstance(row, np.ndarray)]
    empty = empty if empty is not None or not arrays else np.empty((0,) * arrays[0].ndim, arrays[0].dtype)
    if empty is None or any((array.ndim, array.dtype) != (empty.ndim, empty.dtype) for array in arrays):
        raise TypeError("rows are no arrays, or arrays of several dtypes or numbers of dimensions")
    filled = [row if isinstance(row, np.ndarray) else empty for row in column]
    nested = _values(np.concatenate([array.reshape(-1) for array in filled]))
    for axis in reversed(range(empty.ndim)):
        lengths = [np.full(math.prod(array.shape[:axis]), array.shape[axis]) for array in filled]
        nested = Ragged.from_lengths(nested, np.concatenate(lengths))
    return nested


def _values(flat: NDArray[Any]) -> AnyColumn:
    if flat.dtype != object:
        return flat
    strings = collate(flat.tolist()) if flat.size else BytesColumn(np.zeros((0, 4), np.int32), ())
    assert isinstance(strings, BytesColumn)
    return strings
