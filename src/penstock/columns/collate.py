"""Collate rows into columns.

There is no schema here, so the values decide the types: NumPy scalars and arrays keep their dtype, Python numbers get
the dtype that NumPy chooses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.columns.batch import Batch
from penstock.columns.bytes_column import BytesColumn
from penstock.columns.column import AnyColumn, Column
from penstock.columns.nullable import Nullable
from penstock.columns.ragged import Ragged
from penstock.columns.stored_column import Stored, StoredColumn

Collated: TypeAlias = "Batch | tuple[Collated, ...] | AnyColumn"


def collate(rows: Sequence[Any]) -> Collated:
    """Collate rows: dicts into a Batch, tuples into a tuple of columns, anything else into one column.

    Values of equal shape are stacked. Values that differ in the first dimension become Ragged, values of which some are
    None become Nullable. The names of nested dicts are joined: ``{"a": {"b": 1}}`` is the column ``a/b``.

    >>> collate([{"n": 1, "name": "one"}, {"n": 2, "name": "two"}]).to_list()
    [{'n': 1, 'name': 'one'}, {'n': 2, 'name': 'two'}]
    """
    if not rows:
        raise ValueError("there are no rows to collate")
    first = rows[0]
    if isinstance(first, (Mapping, Batch)):
        named = list(_named_columns(rows, ""))
        if len(dict(named)) != len(named):
            raise ValueError(f"two columns have the same name: {sorted(name for name, _ in named)}")
        return Batch(dict(named), num_rows=len(rows))
    if isinstance(first, tuple):
        if not all(isinstance(row, tuple) and len(row) == len(first) for row in rows):
            raise ValueError(f"rows must be tuples of one length: the first has {len(first)} items, others differ")
        return tuple(collate(values) for values in zip(*rows, strict=True))
    return _column(rows)


def _named_columns(rows: Sequence[Any], prefix: str) -> Iterable[tuple[str, AnyColumn]]:
    names = rows[0].keys()
    for row in rows:
        if not isinstance(row, (Mapping, Batch)) or row.keys() != names:
            found = sorted(row.keys()) if isinstance(row, (Mapping, Batch)) else type(row).__name__
            raise ValueError(f"rows have different names: {sorted(names)} and {found}")
    for name in names:
        values = [row[name] for row in rows]
        if isinstance(values[0], Mapping):
            yield from _named_columns(values, f"{prefix}{name}/")
            continue
        try:
            yield prefix + name, _column(values)
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {prefix + name!r}: {error}") from error


def _column(values: Sequence[Any]) -> AnyColumn:
    if any(value is None for value in values):
        return _with_nulls(values)
    first = values[0]
    if isinstance(first, (str, bytes)):
        return _strings(values, type(first))
    if isinstance(first, (np.ndarray, Stored)) and Stored in set(map(type, values)):
        arrays = [value.array if isinstance(value, Stored) else value for value in values]
        return StoredColumn(_column(arrays), [value if isinstance(value, Stored) else None for value in values])
    if isinstance(first, (list, tuple, Column)) or _holds_strings(first):
        return _from_lists(values)
    if isinstance(first, np.generic) and all(type(value) is type(first) for value in values):
        return np.array(values, first.dtype)
    if isinstance(first, (bool, int, float)) and not isinstance(first, np.generic):
        return _numbers(values)
    return _from_arrays([np.asarray(value) for value in values])


def _holds_strings(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "OSU"


def _numbers(values: Sequence[Any]) -> NDArray[Any]:
    try:
        array = np.array(values)
    except ValueError as error:
        raise ValueError("values are numbers in some rows and sequences in others") from error
    if array.ndim != 1 or array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and _are_integers(values)):
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(f"values of type {', '.join(kinds)} cannot be combined to an array of numbers")
    return array


def _are_integers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, np.integer)) for value in values)


def _from_arrays(arrays: list[NDArray[Any]]) -> AnyColumn:
    first = arrays[0]
    if first.dtype.kind in "OSU":
        raise TypeError(f"values of type {first.dtype} are not supported: use numbers, arrays, str, bytes or lists")
    if any(array.dtype != first.dtype for array in arrays):
        raise ValueError(f"dtypes differ: {', '.join(sorted({str(array.dtype) for array in arrays}))}")
    if all(array.shape == first.shape for array in arrays):
        return np.stack(arrays)
    if any(array.ndim != first.ndim or array.shape[1:] != first.shape[1:] for array in arrays):
        shapes = sorted({array.shape for array in arrays})
        raise ValueError(f"shapes differ in more than the first dimension: {', '.join(map(str, shapes[:4]))}")
    return Ragged.from_lengths(np.concatenate(arrays), [len(array) for array in arrays])


def _from_lists(rows: Sequence[Any]) -> AnyColumn:
    if not all(isinstance(row, (list, tuple, Column, np.ndarray)) for row in rows):
        raise ValueError("values are sequences in some rows only")
    lists = [row.to_list() if isinstance(row, Column) else list(row) for row in rows]
    lengths = [len(row) for row in lists]
    flat = list(chain.from_iterable(lists))
    if not flat:
        return Ragged.from_lengths(np.empty(0, np.float32), lengths)
    values = _column(flat)
    if len(set(lengths)) == 1:
        if isinstance(values, np.ndarray):
            return values.reshape(len(rows), lengths[0], *values.shape[1:])
        if isinstance(values, BytesColumn):
            shape = (lengths[0], *values.shape)
            return BytesColumn(values.views, values.buffers, text=values.text, shape=shape, rows=len(rows))
    return Ragged.from_lengths(values, lengths)


def _strings(values: Sequence[Any], kind: type[str] | type[bytes]) -> BytesColumn:
    text = issubclass(kind, str)
    try:
        return BytesColumn.from_values(values, text=text)
    except TypeError:
        raise ValueError(f"values are {'str' if text else 'bytes'} in some rows only") from None


def _with_nulls(values: Sequence[Any]) -> Nullable:
    valid = np.array([value is not None for value in values])
    if not valid.any():
        return Nullable(np.zeros(len(values), np.float32), valid)
    # The values of absent rows have no meaning: repeat a neighbor, which has the right type.
    present = np.maximum(np.cumsum(valid) - 1, 0)
    return Nullable(_column([value for value in values if value is not None])[present], valid)


def is_object_column(column: AnyColumn) -> bool:
    """Whether a column is an object array, whose rows are arrays of different shapes."""
    values = column.values if isinstance(column, Nullable) else column
    return isinstance(values, np.ndarray) and values.dtype == object


def as_nested_lists(column: AnyColumn, empty: NDArray[Any] | None = None) -> AnyColumn:
    """Convert arrays of different shapes to a column with a ragged level for each dimension.

    >>> as_nested_lists(np.array([np.ones((1, 2), int), np.zeros((2, 1), int)], object)).to_list()
    [[[1, 1]], [[0], [0]]]

    Args:
        column: An object array, or a Nullable of one.
        empty: An empty array with the dtype and number of dimensions of the rows; None takes them from the rows.
    """
    if isinstance(column, Nullable):
        rows = column.fill(None)
        return Nullable(as_nested_lists(rows, empty), column.valid)
    arrays = [row for row in column if isinstance(row, np.ndarray)]
    empty = empty if empty is not None or not arrays else np.empty((0,) * arrays[0].ndim, arrays[0].dtype)
    if empty is None or any((array.ndim, array.dtype) != (empty.ndim, empty.dtype) for array in arrays):
        raise TypeError("rows must be arrays of one dtype and one number of dimensions")
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
