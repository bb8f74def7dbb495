"""Infer the schema of data to be written, by the table of defaults in ``docs/write.md``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from penstock.codec.encode_values import Float64, as_array, is_untyped
from penstock.columns import Batch, BytesColumn, Nullable, Ragged
from penstock.errors import SchemaError
from penstock.schema import Feature, Schema
from penstock.schema.dtype import DTYPES, FLOAT64_CHOICE, FLOATS, TEXT
from penstock.schema.feature import FeatureArguments, Shape

_PYTHON_TYPES: dict[type, str] = {bool: "bool", int: "int64", float: "float32", str: "str", bytes: "bytes"}
_PYTHON_TYPES |= {bytearray: "bytes", memoryview: "bytes"}
_CONVERT_ADVICE = "convert it to numbers, str or bytes"
_TIME_ADVICE = 'write a column of days, s, ms, us or ns, or convert it with .astype("int64") or .astype(str)'
_LOGICAL = {"datetime64[D]": "date32[day]"}
_LOGICAL |= {f"datetime64[{unit}]": f"timestamp[{unit}]" for unit in ("s", "ms", "us", "ns")}
_LOGICAL |= {f"timedelta64[{unit}]": f"duration[{unit}]" for unit in ("s", "ms", "us", "ns")}


def infer_from_columns(
    columns: Batch | Mapping[str, Any],
    float64: Float64 | None,
    known: Mapping[str, FeatureArguments] | None = None,
) -> Schema:
    """Infer a schema from whole columns.

    Args:
        columns: The columns.
        float64: How to store float64.
        known: What is known of features beside their values, such as logical types.

    Raises:
        SchemaError: No feature stores a column; the message has all such columns.
    """
    features: dict[str, Feature] = {}
    problems: list[str] = []
    for name, column in columns.items():
        arguments = (known or {}).get(name, {})
        try:
            if "dtype" in arguments:
                features[name] = Feature(**arguments).replace(optional=isinstance(column, Nullable))
            else:
                feature = _named(name, _observe_column(name, column), float64)
                features[name] = feature.replace(**arguments) if arguments else feature
        except SchemaError as error:
            problems.append(str(error))
    if problems:
        raise SchemaError("\n".join(problems))
    return Schema(features)


def infer_from_rows(rows: Iterable[Mapping[str, Any]], float64: Float64 | None) -> Schema:
    """Infer a schema from rows: different lengths make a feature ragged, None makes it optional."""
    values: dict[str, list[Any]] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"a row must be a mapping of names to values, found {type(row).__name__}: row {number}")
        for name, value in row.items():
            values.setdefault(name, [None] * number).append(value)
        for column in values.values():
            if len(column) == number:
                column.append(None)
    return Schema({name: _named(name, _observe_rows(name, column), float64) for name, column in values.items()})


class _Observed(NamedTuple):
    """The dtype and shape of values."""

    dtype: str | None = None
    """None if all are empty."""
    shape: Shape = ()
    weak: bool = True
    """Whether they are Python scalars, which adapt to the dtype of arrays in other rows."""
    open: bool = False
    """Whether values are empty lists, which may have further dimensions."""
    optional: bool = False


class _Conflict(Exception):
    """Raised for values that one feature cannot hold."""


def _observe_column(name: str, column: Any) -> _Observed:
    if isinstance(column, Nullable):
        return _observe_column(name, column.values)._replace(optional=True)
    if isinstance(column, Ragged):
        inner = _observe_column(name, column.values)
        return inner._replace(shape=(None, *inner.shape), optional=False)
    if isinstance(column, BytesColumn):
        return _Observed("str" if column.text else "bytes", column.shape, weak=False)
    if isinstance(column, np.ndarray) and column.dtype.kind not in "OSUT":
        absent = column.dtype.kind in "mM" and bool(np.isnat(column).any())
        return _Observed(column.dtype.name, column.shape[1:], weak=False, optional=absent)
    return _observe_rows(name, column.tolist() if isinstance(column, np.ndarray) else column)


def _observe_rows(name: str, values: Iterable[Any]) -> _Observed:
    seen = _Observed(open=True)
    optional = False
    for row, value in enumerate(values):
        if value is None:
            optional = True
            continue
        try:
            seen = _merge(seen, _observe(value))
        except _Conflict as conflict:
            raise SchemaError(f'{conflict}: row {row}, feature "{name}"') from None
    return seen._replace(optional=optional)


def _observe(value: Any) -> _Observed:
    kind = type(value)
    if kind in _PYTHON_TYPES:
        return _Observed(_PYTHON_TYPES[kind])
    if isinstance(value, list | tuple):
        return _observe_list(value)
    if isinstance(value, str | bytes):
        return _Observed("str" if isinstance(value, str) else "bytes")
    try:
        array = as_array(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _Conflict(f"found {kind.__name__}, which no feature can hold: {error}") from None
    if array.dtype.kind in "OSUT":
        if not array.ndim:
            advice = "make each of its items a feature" if isinstance(value, Mapping) else _CONVERT_ADVICE
            raise _Conflict(f"found {kind.__name__}, which no feature can hold: {advice}")
        inner = _observe(array.tolist())
        return inner._replace(shape=array.shape) if len(inner.shape) <= array.ndim else inner
    if array.dtype.kind in "mM":
        raise _Conflict(f"found {array.dtype} in rows: {_TIME_ADVICE}")
    if is_untyped(array):
        return _Observed(None, array.shape, open=array.ndim == 1)
    return _Observed(array.dtype.name, array.shape, weak=False)


def _observe_list(value: list[Any] | tuple[Any, ...]) -> _Observed:
    kinds = set(map(type, value))
    items: Iterable[Any] = value
    if kinds <= _PYTHON_TYPES.keys():
        items = [next(item for item in value if type(item) is kind) for kind in sorted(kinds, key=str)]
    inner = _Observed(open=True)
    for item in items:
        if item is None:
            raise _Conflict("found None inside a list, which no feature can hold")
        inner = _merge(inner, _observe(item))
    return inner._replace(shape=(len(value), *inner.shape))


def _merge(a: _Observed, b: _Observed) -> _Observed:
    short, long = sorted((a, b), key=lambda seen: len(seen.shape))
    if len(short.shape) < len(long.shape) and not short.open:
        raise _Conflict(
            f"found values of {len(short.shape)} and of {len(long.shape)} dimensions, which one feature cannot hold"
        )
    shape = tuple(
        size if position >= len(short.shape) or short.shape[position] == size else None
        for position, size in enumerate(long.shape)
    )
    is_open = a.open and b.open if len(a.shape) == len(b.shape) else long.open
    return _Observed(*_merge_dtypes(a, b), open=is_open)._replace(shape=shape)


def _merge_dtypes(a: _Observed, b: _Observed) -> tuple[str | None, Shape, bool]:
    if a.dtype is None or b.dtype is None or a.dtype == b.dtype:
        weak = a.weak and b.weak if a.dtype == b.dtype else (b if a.dtype is None else a).weak
        return a.dtype or b.dtype, (), weak
    conflict = _Conflict(f"found {a.dtype} and {b.dtype}, which one feature cannot hold")
    if a.dtype in TEXT or b.dtype in TEXT:
        raise conflict
    if a.weak and b.weak:
        return ("float32" if "float32" in (a.dtype, b.dtype) else "int64"), (), True
    if a.weak != b.weak:
        scalar, array = (a, b) if a.weak else (b, a)
        if (scalar.dtype in FLOATS and array.dtype not in FLOATS) or array.dtype == "bool":
            raise conflict
        return array.dtype, (), False
    if (a.dtype in FLOATS) != (b.dtype in FLOATS):
        raise conflict
    if "bfloat16" in (a.dtype, b.dtype):
        return ("float64" if "float64" in (a.dtype, b.dtype) else "float32"), (), False
    promoted = np.promote_types(a.dtype, b.dtype).name
    if (promoted in FLOATS) != (a.dtype in FLOATS):
        raise conflict  # int64 and uint64
    return promoted, (), False


def _named(name: str, seen: _Observed, float64: Float64 | None) -> Feature:
    try:
        return _feature(seen, float64)
    except SchemaError as error:
        raise SchemaError(f'{error}: feature "{name}"') from None


def _feature(seen: _Observed, float64: Float64 | None) -> Feature:
    """Return the default feature of a dtype and a shape."""
    dtype, shape = seen.dtype, _leading_none(seen.shape)
    if dtype is None:
        raise SchemaError("all values are None or empty, so the dtype is unknown: pass a schema")
    if logical := _LOGICAL.get(dtype):
        return Feature("int32" if logical == "date32[day]" else "int64", shape, optional=seen.optional, logical=logical)
    if dtype not in DTYPES:
        is_time = dtype.startswith(("datetime64", "timedelta64"))
        raise SchemaError(f"the dtype {dtype} cannot be stored: {_TIME_ADVICE if is_time else _CONVERT_ADVICE}")
    is_nested = shape.count(None) > 1
    if dtype == "float64":
        if float64 is None:
            raise SchemaError(FLOAT64_CHOICE)
        if float64 == "float32":
            return Feature("float32", shape, optional=seen.optional)
        return Feature("float64", shape, encoding="tensor" if is_nested else "raw", optional=seen.optional)
    if dtype == "uint64":
        raise SchemaError(
            f'uint64 does not fit an Int64List: pass a schema with Feature("uint64", {shape}, encoding="raw"),'
            ' or convert it with .astype("int64")'
        )
    if dtype == "uint8" and len(shape) >= 2:
        return Feature("uint8", shape, encoding="tensor" if is_nested else "raw", optional=seen.optional)
    return Feature(dtype, shape, optional=seen.optional)


def _leading_none(shape: Shape) -> Shape:
    """Return a shape in which all dimensions before the last ragged one are ragged, too."""
    last = max((position for position, size in enumerate(shape) if size is None), default=-1)
    return (None,) * (last + 1) + tuple(shape[last + 1 :])
