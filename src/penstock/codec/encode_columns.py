"""Convert the columns of users to columns that the native encoder writes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec.decode_blobs import is_blob
from penstock.codec.encode_rows import gather
from penstock.codec.encode_values import Float64, as_array, convert_array, found_type, from_masked, shape_text
from penstock.codec.tensor_proto import serialize_tensor
from penstock.columns import AnyColumn, BytesColumn, Column, Nullable, Ragged
from penstock.columns.column import describe
from penstock.columns.stored_column import Stored
from penstock.errors import RowFault, SchemaError
from penstock.parallel import available_cpus
from penstock.schema import Feature
from penstock.schema.dtype import TEXT
from penstock.schema.feature import IMAGES, fits_shape

# The kinds of NumPy dtypes that hold Python objects or strings, whose memory cannot be written directly.
_OBJECTS = "OSUT"


def native_columns(
    name: str, feature: Feature, values: Any, *, sequence: bool, float64: Float64 | None
) -> list[_core.EncodeColumn]:
    """Return the native columns of a feature: its values, then the row lengths of inner levels."""
    column, valid = _split_mask(_as_column(values, feature, sequence, float64), feature)
    stored = Feature("bytes") if is_blob(feature) else feature
    bounds: list[NDArray[np.int64]] = []
    try:
        for _ in range(stored.ragged_levels + sequence):
            column, level = _split_level(column)
            bounds.append(level)
        values, buffers = _leaf_values(column, stored, valid if not bounds else None, float64)
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
        values,
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
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return _from_times(values, feature)
    if feature.names and (codes := _class_numbers(values, feature)) is not None:
        return codes
    if isinstance(values, list | tuple):
        return gather(list(values), feature, sequence=sequence, float64=float64)
    if isinstance(values, np.ndarray) and values.dtype.kind in _OBJECTS:
        return gather(values.tolist(), feature, sequence=sequence, float64=float64)
    if isinstance(values, np.ma.MaskedArray):
        return from_masked(values)
    strings = values.values if isinstance(values, Nullable) else values
    if isinstance(strings, BytesColumn) and feature.encoding == "raw":
        return gather(values.to_list(), feature, sequence=sequence, float64=float64)
    column: AnyColumn = values
    return column


def _from_times(values: NDArray[Any], feature: Feature) -> AnyColumn:
    """Return the numbers of dates and times; NaT is absent."""
    unit = np.datetime_data(values.dtype)[0]
    logical = feature.logical or ""
    wanted = "D" if logical == "date32[day]" else logical.partition("[")[2][:2].strip(",]")
    if logical and wanted != unit:
        raise RowFault(0, f"expected {logical}, found {values.dtype}")
    numbers, absent = values.view(np.int64) if values.dtype.isnative else values.astype("int64"), np.isnat(values)
    if not absent.any():
        return numbers
    if numbers.ndim > 1:
        raise RowFault(int(np.argmax(absent.reshape(len(absent), -1).any(1))), "found NaT inside a list")
    return Nullable(np.where(absent, 0, numbers), ~absent)


def _class_numbers(values: Any, feature: Feature) -> AnyColumn | None:
    """Return the numbers of classes that are given by their names; None if they are numbers."""
    if isinstance(values, Nullable):
        inner = _class_numbers(values.values[values.valid], feature)
        if not isinstance(inner, np.ndarray):
            return None
        numbers = np.zeros(len(values), np.int64)
        numbers[values.valid] = inner
        return Nullable(numbers, values.valid)
    if isinstance(values, Ragged):
        inner = _class_numbers(values.values, feature)
        return None if inner is None else Ragged(inner, values.offsets)
    if isinstance(values, BytesColumn) and values.text and not values.shape:
        if not len(values):  # all names are absent
            return np.zeros(0, np.int64)
        values = values.to_list()
    elif isinstance(values, np.ndarray) and values.dtype.kind in _OBJECTS and values.ndim == 1:
        values = values.tolist()
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        return None
    number = {name: value for value, name in enumerate(feature.names)}
    for row, name in enumerate(values):
        if name not in number:
            raise RowFault(row, f"{name!r} is none of the {len(number):,} names of classes")
    return np.array([number[name] for name in values], np.int64)


def _split_mask(column: AnyColumn, feature: Feature) -> tuple[AnyColumn, NDArray[np.bool_] | None]:
    """Return a column and its validity mask; raise for absent rows of a feature that must be present."""
    if not isinstance(column, Nullable):
        return column, None
    if not column.null_count:
        return column.values, None
    if not (feature.optional or feature.has_default):
        row = int(np.argmin(column.valid))
        raise RowFault(row, f"expected {feature!r}, found None; optional=True lets it be absent")
    return column.values, np.ascontiguousarray(column.valid)


def _split_level(column: AnyColumn) -> tuple[AnyColumn, NDArray[np.int64]]:
    """Return the items of the outermost level, and the offsets of the rows in them."""
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


def _leaf_values(
    column: AnyColumn, feature: Feature, valid: NDArray[np.bool_] | None, float64: Float64 | None
) -> tuple[NDArray[Any], tuple[NDArray[np.uint8], ...]]:
    """Return the values as an array, and the buffers that it points into if they are byte strings."""
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
        column[~valid] = 0  # the values of absent rows have no meaning and may not fit
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
    """Raise for values that overflow: storing float64 in a FloatList may round, but not to infinity."""
    with np.errstate(over="ignore"):
        large = np.isinf(values.astype(np.float32)) & ~np.isinf(values)
    if large.any():
        row = int(np.argmax(large)) // math.prod(values.shape[1:])
        raise RowFault(row, "found a value that is too large for float32, in which it is stored")


def _flat_offsets(bounds: list[NDArray[np.int64]]) -> NDArray[np.int64] | None:
    """Return the offsets of the innermost items of each record."""
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


# The first bytes of an image file, for encodings of one format.
_SIGNATURES = {"jpeg": b"\xff\xd8\xff", "png": b"\x89PNG\r\n\x1a\n"}


class Encoded(bytes):
    """An image or tensor that is already encoded, and written unchanged."""


# With fewer images, starting threads costs more than it saves.
_MIN_IMAGES_FOR_THREADS = 8


def encode_blobs(values: Iterable[Any], feature: Feature, *, sequence: bool, float64: Float64 | None) -> AnyColumn:
    """Encode every row, or every step of every row; images that are already bytes are stored unchanged."""
    rows = list(values)
    if sequence:
        steps = [None if row is None else list(row) for row in rows]
        flat = [(number, step) for number, row in enumerate(steps) for step in row or ()]
    else:
        flat = [(number, value) for number, value in enumerate(rows) if value is not None]
    encoded = iter(_encode_all(flat, feature, float64))
    if sequence:
        stored: list[Any] = [None if row is None else [next(encoded) for _ in row] for row in steps]
    else:
        stored = [None if value is None else next(encoded) for value in rows]
    return gather(stored, Feature("bytes"), sequence=sequence, float64=None)


def _encode_all(flat: list[tuple[int, Any]], feature: Feature, float64: Float64 | None) -> list[bytes]:
    def encode(numbered: tuple[int, Any]) -> bytes:
        row, value = numbered
        try:
            return _encode(value, feature, float64)
        except (RowFault, SchemaError, TypeError) as error:
            raise RowFault(row, error.message if isinstance(error, RowFault) else str(error)) from None

    if feature.encoding == "tensor" or len(flat) < _MIN_IMAGES_FOR_THREADS:
        return [encode(item) for item in flat]
    # Pillow releases the GIL while it compresses.
    with ThreadPoolExecutor(min(8, available_cpus()), thread_name_prefix="penstock-image") as pool:
        return list(pool.map(encode, flat))


def as_stored(value: Stored, feature: Feature) -> Encoded | list[Encoded] | None:
    """Return the stored bytes of a value, or of each step, if ``feature`` stores the same bytes; else None."""
    stored, data = value.feature, value.data
    if data is None or stored.dtype != feature.dtype:
        return None
    steps, arrays = (data, value.array) if isinstance(data, tuple) else ((data,), (value.array,))
    if not all(fits_shape(array.shape, feature.shape) for array in arrays):
        return None
    if stored.encoding != feature.encoding:
        start = _SIGNATURES.get(feature.encoding, b"")
        if not {stored.encoding, feature.encoding} <= IMAGES or not all(step.startswith(start) for step in steps):
            return None
    return list(map(Encoded, steps)) if isinstance(data, tuple) else Encoded(data)


def _encode(value: Any, feature: Feature, float64: Float64 | None) -> bytes:
    if isinstance(value, Encoded):
        return bytes(value)
    if feature.encoding != "tensor" and isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        if not data.startswith(_SIGNATURES.get(feature.encoding, b"")):
            raise RowFault(0, f"expected the bytes of a {feature.encoding} file, found other bytes")
        return data
    if isinstance(value, str | os.PathLike) and feature.encoding != "tensor":
        expected = f"expected an image as an array or as the bytes of a {feature.encoding} file"
        raise RowFault(0, f"{expected}, found {type(value).__name__}; to read a file, use Path(name).read_bytes()")
    text = feature.dtype in TEXT
    if isinstance(value, Column):
        value = _array_of_lists(value, feature.shape)
    array = np.asarray(value, object) if text else as_array(value)
    if type(value) is float or isinstance(value, list | tuple):
        array = array.astype(np.float32) if array.dtype == np.float64 and feature.dtype == "float32" else array
    if not fits_shape(array.shape, feature.shape):
        raise RowFault(0, f"expected shape {shape_text(feature.shape)}, found {shape_text(array.shape)}")
    if not text:
        array = convert_array(array, feature.dtype, float64)
    if feature.encoding == "tensor":
        return serialize_tensor(array)
    from penstock.codec.images import encode_image

    return encode_image(array, feature.encoding)


def _array_of_lists(lists: AnyColumn, shape: tuple[int | None, ...]) -> Any:
    """Return nested lists as an array; Arrow stores arrays of different shapes as nested lists."""
    sizes, level = [len(lists)], lists
    while isinstance(level, Ragged):
        lengths = level.lengths
        if len(lengths) and (lengths != lengths[0]).any():
            raise RowFault(0, f"expected shape {shape_text(shape)}, found lists of different lengths")
        sizes.append(int(lengths[0]) if len(lengths) else 0)
        level = level.values[level.offsets[0] : level.offsets[-1]]
    if 0 in sizes and len(sizes) == len(shape):
        # Empty lists do not determine the sizes of inner dimensions: take them from the feature.
        sizes = [size if wanted is None else wanted for size, wanted in zip(sizes, shape, strict=True)]
    values = level.to_numpy() if isinstance(level, BytesColumn) else level
    return np.asarray(values).reshape(sizes) if math.prod(sizes) == len(values) else values
