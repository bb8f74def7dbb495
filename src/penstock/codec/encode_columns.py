"""Columns of a user's making to columns that the native encoder writes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec.blobs import is_blob
from penstock.codec.encode_blobs import encode_blobs
from penstock.codec.encode_rows import gather
from penstock.codec.encode_values import Float64, convert_array, found_type, shape_text, unmasked
from penstock.codec.row_fault import RowFault
from penstock.columns import AnyColumn, BytesColumn, Column, Nullable, Ragged
from penstock.columns.column import describe
from penstock.schema import Feature
from penstock.schema.dtype import TEXT

# Arrays of Python objects and of strings are no memory that could be written as it lies.
_OBJECTS = "OSUT"


def native_columns(
    name: str, feature: Feature, values: Any, *, sequence: bool, float64: Float64 | None
) -> list[_core.EncodeColumn]:
    """Answer the native columns of a feature: its values, then the row lengths of its inner levels."""
    column, valid = _present(_as_column(values, feature, sequence, float64), feature)
    stored = Feature("bytes") if is_blob(feature) else feature
    bounds: list[NDArray[np.int64]] = []
    try:
        for _ in range(stored.ragged_levels + sequence):
            column, level = _open(column)
            bounds.append(level)
        leaf, buffers = _leaf(column, stored, valid if not bounds else None, float64)
    except RowFault as fault:
        row = fault.row
        for level in reversed(bounds):
            row = int(np.searchsorted(level, row, "right")) - 1
        raise RowFault(row, fault.message) from None
    if sequence:
        offsets, steps = bounds[1] if len(bounds) > 1 else None, bounds[0]
    else:
        offsets, steps = _flat_offsets(bounds), None
    values_column = _core.EncodeColumn(
        name if feature.key is None else feature.key,
        "view" if stored.dtype in TEXT else stored.dtype,
        leaf,
        count=math.prod(size or 0 for size in stored.inner_shape),
        raw=stored.encoding == "raw",
        sequence=sequence,
        offsets=offsets,
        step_offsets=steps,
        valid=valid,
        buffers=buffers,
    )
    return [values_column, *_partitions(feature, bounds, valid)]


def _as_column(values: Any, feature: Feature, sequence: bool, float64: Float64 | None) -> AnyColumn:
    if is_blob(feature):
        return encode_blobs(values, feature, sequence=sequence, float64=float64)
    if isinstance(values, list | tuple):
        return gather(list(values), feature, sequence=sequence, float64=float64)
    if isinstance(values, np.ndarray) and values.dtype.kind in _OBJECTS:
        return gather(values.tolist(), feature, sequence=sequence, float64=float64)
    if isinstance(values, np.ma.MaskedArray):
        return unmasked(values)
    strings = values.values if isinstance(values, Nullable) else values
    if isinstance(strings, BytesColumn) and feature.encoding == "raw":
        return gather(values.to_list(), feature, sequence=sequence, float64=float64)
    column: AnyColumn = values
    return column


def _present(column: AnyColumn, feature: Feature) -> tuple[AnyColumn, NDArray[np.bool_] | None]:
    """Take a column and its mask apart; only features that may be absent have one."""
    if not isinstance(column, Nullable):
        return column, None
    if not column.null_count:
        return column.values, None
    if not (feature.optional or feature.has_default):
        row = int(np.argmin(column.valid))
        raise RowFault(row, f"expected {feature!r}, found None; optional=True lets it be absent")
    return column.values, np.ascontiguousarray(column.valid)


def _open(column: AnyColumn) -> tuple[AnyColumn, NDArray[np.int64]]:
    """Take one ragged level off: the items, and where each row of them begins; dense rows are all of one length."""
    if isinstance(column, Ragged):
        values = column.values
        if isinstance(values, Nullable):
            if values.null_count:
                raise RowFault(_row_of_none(values, column.offsets), "found None inside a list")
            values = values.values
        return values, column.offsets
    shape: tuple[int, ...] = ()
    if isinstance(column, BytesColumn):
        shape = column.shape
    elif isinstance(column, np.ndarray):
        shape = column.shape[1:]
    if not shape:
        raise RowFault(0, f"expected rows of several items, found {describe(column)}")
    bounds = np.arange(len(column) + 1, dtype=np.int64) * shape[0]
    items = int(bounds[-1])
    if isinstance(column, np.ndarray):
        return column.reshape(items, *shape[1:]), bounds
    assert isinstance(column, BytesColumn)
    return BytesColumn(column.views, column.buffers, text=column.text, shape=shape[1:], rows=items), bounds


def _row_of_none(values: Nullable, offsets: NDArray[np.int64]) -> int:
    return int(np.searchsorted(offsets, int(np.argmin(values.valid)), "right")) - 1


def _leaf(
    column: AnyColumn, feature: Feature, valid: NDArray[np.bool_] | None, float64: Float64 | None
) -> tuple[NDArray[Any], tuple[NDArray[np.uint8], ...]]:
    """Answer the memory of the values, and the buffers that it points into where they are byte strings."""
    if isinstance(column, np.ndarray) and column.dtype.kind in _OBJECTS:
        item = Feature(feature.dtype, feature.inner_shape, encoding=feature.encoding)
        column = gather(column.tolist(), item, sequence=False, float64=float64)
    text = feature.dtype in TEXT
    wanted = BytesColumn if text else np.ndarray
    if not isinstance(column, wanted):
        found = describe(column) if isinstance(column, Column) else found_type(column)
        raise RowFault(0, f"expected {feature.dtype} of shape {shape_text(feature.shape)}, found {found}")
    shape = column.shape if isinstance(column, BytesColumn) else column.shape[1:]
    if shape != feature.inner_shape:
        raise RowFault(0, f"expected shape {shape_text(feature.inner_shape)}, found {shape_text(shape)}")
    if isinstance(column, BytesColumn):
        _check_text(column if valid is None else column[valid], feature)
        return column.views, column.buffers
    if valid is not None and column.dtype != feature.numpy_dtype:
        column = column.copy()
        column[~valid] = 0  # what lies in absent rows means nothing, and need not fit
    values = convert_array(column, feature.dtype, float64)
    if feature.dtype == "float64" and feature.encoding == "list":
        _check_float32(values)
    return (values.view(np.uint16) if feature.dtype == "bfloat16" else values), ()


def _check_text(column: BytesColumn, feature: Feature) -> None:
    try:
        _core.check_views(column.views, column.buffers, feature.dtype == "str")
    except UnicodeDecodeError:
        for row in range(len(column)):
            part = column[row : row + 1]
            try:
                _core.check_views(part.views, part.buffers, True)
            except UnicodeDecodeError:
                raise RowFault(row, "expected str, found bytes that are not UTF-8") from None
        raise


def _check_float32(values: NDArray[Any]) -> None:
    """A schema that stores float64 in a FloatList has chosen rounding, but not infinity."""
    with np.errstate(over="ignore"):
        large = np.isinf(values.astype(np.float32)) & ~np.isinf(values)
    if large.any():
        row = int(np.argmax(large)) // math.prod(values.shape[1:])
        raise RowFault(row, "found a value that float32, in which it is stored, does not hold")


def _flat_offsets(bounds: list[NDArray[np.int64]]) -> NDArray[np.int64] | None:
    """Answer where each record's innermost items begin."""
    if not bounds:
        return None
    offsets = bounds[0]
    for level in bounds[1:]:
        offsets = level[offsets]
    return offsets


def _partitions(
    feature: Feature, bounds: list[NDArray[np.int64]], valid: NDArray[np.bool_] | None
) -> list[_core.EncodeColumn]:
    return [
        _core.EncodeColumn(key, "int64", np.diff(bounds[level]), offsets=_flat_offsets(bounds[:level]), valid=valid)
        for level, key in enumerate(feature.partitions, 1)
    ]
