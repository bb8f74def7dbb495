"""cast(): other dtypes for some of the columns; a value that does not fit raises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns import AnyColumn, Batch, BytesColumn, Nullable, Ragged
from penstock.columns.stored_column import Stored, plain
from penstock.dataset.order import call_text
from penstock.dataset.transforms.column_names import ColumnStage
from penstock.errors import SchemaError
from penstock.schema import Feature, Schema
from penstock.schema.dtype import TEXT, DtypeLike, canonical_dtype, numpy_dtype
from penstock.schema.feature import IMAGES

# A list of an Example does not hold them.
_STORED_RAW = frozenset({"float64", "uint64"})


@dataclass(frozen=True)
class CastStage(ColumnStage):
    """Casts columns to other dtypes."""

    dtypes: tuple[tuple[str, str], ...]
    """Columns, each with the name of its new dtype."""

    @classmethod
    def of(cls, schema: Schema | None, dtypes: Mapping[str, DtypeLike]) -> CastStage:
        """Check dtypes, also against the schema of the rows where it is known."""
        if not isinstance(dtypes, Mapping):
            raise TypeError('cast() takes a mapping of names to dtypes: {"label": "int32"}')
        stage = cls(tuple((name, canonical_dtype(dtype)) for name, dtype in dtypes.items()))
        if schema is not None and schema.keys() >= dtypes.keys():
            stage.schema_after(schema)
        return stage

    def change(self, batch: Batch) -> Batch:
        return batch | {name: _cast_column(name, self._of(batch, name), dtype) for name, dtype in self.dtypes}

    def change_row(self, row: dict[str, Any]) -> dict[str, Any]:
        return row | {name: _cast_value(name, self._of(row, name), dtype) for name, dtype in self.dtypes}

    def _of(self, columns: Batch | dict[str, Any], name: str) -> Any:
        if name not in columns:
            raise SchemaError(f"cast(): there is no column {name!r}, but {', '.join(map(repr, columns.keys()))}")
        return columns[name]

    def schema_after(self, schema: Schema) -> Schema:
        known = schema.select([name for name, _ in self.dtypes])
        return schema | {name: _cast_feature(name, known[name], dtype) for name, dtype in self.dtypes}

    @property
    def calls(self) -> list[str]:
        return [call_text("cast", dict(self.dtypes))]

    def describe(self) -> list[Any]:
        return ["cast", [list(pair) for pair in self.dtypes]]


def _cast_feature(name: str, feature: Feature, dtype: str) -> Feature:
    if feature.dtype == dtype:
        return feature
    if feature.encoding in IMAGES:
        raise SchemaError(f"cast(): {name!r} is an image, whose values are {feature.dtype}: change it with map()")
    _check_kinds(name, feature.dtype in TEXT, dtype)
    encoding = feature.encoding
    if encoding == "list" and dtype in _STORED_RAW:
        encoding = "raw"
    elif encoding == "raw" and dtype not in _STORED_RAW and feature.dtype in _STORED_RAW:
        encoding = "list"
    if not feature.has_default:
        return feature.replace(dtype=dtype, encoding=encoding)
    default = _cast_array(name, np.asarray(feature.default), dtype) if dtype not in TEXT else feature.default
    return feature.replace(dtype=dtype, encoding=encoding, default=default)


def _check_kinds(name: str, is_text: bool, dtype: str) -> None:
    if is_text != (dtype in TEXT):
        kinds = "text to numbers" if is_text else "numbers to text"
        raise SchemaError(f"cast(): {name!r} cannot be cast to {dtype}: convert {kinds} with map()")


def _cast_column(name: str, column: AnyColumn, dtype: str) -> AnyColumn:
    """Return a column with another dtype."""
    column = plain(column)
    if isinstance(column, Nullable):
        # Absent rows hold anything: it is replaced by what every dtype can hold.
        values = column.values
        if isinstance(values, np.ndarray) and values.dtype != object:
            values = values.copy()
            values[~column.valid] = 0
        elif isinstance(values, BytesColumn) and not column.valid.all():
            texts: list[Any] = [value if value is not None else type(values[0])() for value in column.to_list()]
            values = BytesColumn.from_values(texts, text=values.text)
        return Nullable(_cast_column(name, values, dtype), column.valid)
    if isinstance(column, Ragged):
        return Ragged(_cast_column(name, column.values, dtype), column.offsets)
    if isinstance(column, BytesColumn):
        _check_kinds(name, True, dtype)
        return _cast_text(name, column, text=dtype == "str")
    if not isinstance(column, np.ndarray):
        raise SchemaError(f"cast(): {name!r} cannot be cast: it is a column of type {type(column).__name__}")
    if column.dtype == object:
        return _cast_objects(column, lambda value: _cast_value(name, value, dtype))
    return _cast_array(name, column, dtype)


def _cast_objects(column: NDArray[Any], cast: Callable[[Any], Any]) -> NDArray[Any]:
    result = np.empty_like(column)
    for number, value in enumerate(column):
        result[number] = cast(value)
    return result


def _cast_text(name: str, column: BytesColumn, *, text: bool) -> BytesColumn:
    if text and not column.text:
        for value in np.ravel(column.to_numpy()):
            _cast_value(name, value, "str")
    return BytesColumn(column.views, column.buffers, text=text, shape=column.shape, rows=len(column))


def _cast_value(name: str, value: Any, dtype: str) -> Any:
    """Return a value of a row with another dtype."""
    if isinstance(value, Stored):
        value = value.array
    if value is None:
        return None
    if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple | str | bytes | np.ndarray):
        return [_cast_value(name, item, dtype) for item in value]
    if isinstance(value, str | bytes):
        _check_kinds(name, True, dtype)
        try:
            if dtype == "str":
                return value if isinstance(value, str) else value.decode()
            return value if isinstance(value, bytes) else value.encode()
        except UnicodeDecodeError:
            raise SchemaError(f"cast(): {name!r} has bytes that are no UTF-8, so that they cannot be str") from None
    array = np.asarray(value)
    if array.dtype == object:
        return _cast_objects(array, lambda item: _cast_value(name, item, dtype))
    cast = _cast_array(name, array, dtype)
    return cast if cast.ndim else cast[()]


def _cast_array(name: str, array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return an array with another dtype; raise if a value would change by more than rounding to a float."""
    if array.dtype.kind in "SU":
        return np.array([_cast_value(name, value, dtype) for value in array.ravel().tolist()]).reshape(array.shape)
    _check_kinds(name, False, dtype)
    target: np.dtype[Any] = numpy_dtype(dtype)
    if array.dtype == target:
        return array
    with np.errstate(all="ignore"):
        result = array.astype(target)
        if target.kind in "fV":  # bfloat16 has the kind V
            wide = array if array.dtype.kind != "V" else array.astype(np.float32)
            back = result.astype(np.float64)
            if wide.dtype.kind == "f":
                wrong = np.isfinite(wide) & ~np.isfinite(back)
            else:
                # Large integers as floats: compared as integers, as far as those reach.
                integer: np.dtype[Any] = np.dtype(np.uint64 if wide.dtype.kind == "u" else np.int64)
                exact = (back >= np.iinfo(integer).min) & (back < float(np.iinfo(integer).max))
                wrong = ~exact | (np.where(exact, back, 0).astype(integer) != wide)
        else:
            low, high = (0, 1) if target.kind == "b" else (np.iinfo(target).min, np.iinfo(target).max)
            if array.dtype.kind in "iub":
                wrong = _out_of_range(array, low, high)
            else:
                wide = array.astype(np.float64)
                wrong = ~((wide >= low) & (wide < float(high) + 1) & (np.trunc(wide) == wide))
    if wrong.any():
        found = np.asarray(array)[np.asarray(wrong)].ravel()[0]
        raise SchemaError(f"cast(): {name!r} has the value {found}, which {dtype} does not hold")
    return result


def _out_of_range(array: NDArray[Any], low: int, high: int) -> NDArray[np.bool_]:
    """Return which integers are out of a range, compared as integers of Python where dtypes do not hold its ends."""
    if not array.size or (int(array.min()) >= low and int(array.max()) <= high):
        return np.zeros(array.shape, np.bool_)
    return np.array([not low <= int(value) <= high for value in array.ravel()]).reshape(array.shape)
