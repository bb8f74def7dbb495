"""One feature's values of many rows, as Python objects, to a column; the common ones natively."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec.encode_values import Float64, as_array, convert_array, found_type, shape_text
from penstock.codec.row_fault import RowFault
from penstock.columns import AnyColumn, BytesColumn, Nullable, Ragged
from penstock.schema import Feature
from penstock.schema.dtype import FLOATS, TEXT


def gather(values: list[Any], feature: Feature, *, sequence: bool, float64: Float64 | None) -> AnyColumn:
    """Gather rows into a column of the feature's dtype and shape; None is an absent row."""
    shape = (None, *feature.shape) if sequence else feature.shape
    sizes = [-1 if size is None else size for size in shape]
    inner = tuple(size for size in feature.inner_shape if size is not None)
    column: AnyColumn
    if feature.dtype in TEXT:
        converter = _TextConverter(feature, shape)
        text = feature.dtype == "str"
        views, buffers, lengths, valid = _core.gather_strings(values, text, sizes, converter)
        items = int(lengths[-1].sum()) if lengths else len(values)
        memory = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
        column = BytesColumn(views, memory, text=text, shape=inner, rows=items)
    else:
        numbers = _NumberConverter(feature, shape, float64)
        data, lengths, valid = _core.gather_numbers(values, feature.dtype, sizes, numbers)
        items = int(lengths[-1].sum()) if lengths else len(values)
        column = data.view(feature.numpy_dtype).reshape(items, *inner)
    for level in reversed(lengths):
        column = Ragged.from_lengths(column, level)
    return column if valid is None else Nullable(column, valid)


class _NumberConverter:
    """Makes arrays of what the native gatherer does not know."""

    def __init__(self, feature: Feature, shape: tuple[int | None, ...], float64: Float64 | None) -> None:
        self._feature = feature
        self._shape = shape
        self._float64 = float64

    def __call__(self, row: int, value: Any, level: int) -> Any:
        dtype, shape = self._feature.dtype, self._shape[level:]
        if isinstance(value, bytes) and self._feature.encoding == "raw" and shape:
            return self._from_memory(row, value, shape)
        array = self._array(row, value, shape)
        if array.dtype == object and array.ndim and array is value:
            return array.tolist()  # the gatherer looks into it
        fits = array.ndim == len(shape) and all(
            size in (None, found) for size, found in zip(shape, array.shape, strict=True)
        )
        number = array.dtype.kind in "biufV" and not isinstance(value, str | bytes)
        if not number or (type(value) is float and dtype not in FLOATS):
            raise RowFault(row, f"expected {dtype}, found {found_type(value)}")
        if not fits:
            found = f"an item of shape {shape_text(array.shape)} at depth {level}" if level else shape_text(array.shape)
            raise RowFault(row, f"expected {dtype} of shape {shape_text(self._shape)}, found {found}")
        try:
            converted = convert_array(array, dtype, self._float64)
        except RowFault as fault:
            raise RowFault(row, fault.message) from None
        return converted.view(np.uint16) if dtype == "bfloat16" else converted

    def _array(self, row: int, value: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
        dtype = self._feature.dtype
        if type(value) is float and dtype in FLOATS:
            # Rounded as TensorFlow rounds it, but never to infinity.
            with np.errstate(over="ignore"):
                rounded = np.asarray(value).astype(self._feature.numpy_dtype)
            if np.isinf(rounded) and not np.isinf(value):
                raise RowFault(row, f"found {value!r}, which {dtype} does not hold")
            return rounded
        if type(value) is int and not -(1 << 63) <= value < 1 << 64:
            raise RowFault(row, f"found an integer of {value.bit_length()} bits, which {dtype} does not hold")
        try:
            return as_array(value)
        except (TypeError, ValueError, RuntimeError) as error:
            expected = f"{dtype} of shape {shape_text(shape)}" if shape else dtype
            raise RowFault(row, f"expected {expected}, found {found_type(value)} ({error})") from None

    def _from_memory(self, row: int, value: bytes, shape: tuple[int | None, ...]) -> NDArray[Any]:
        sizes = [-1 if size is None else size for size in shape]
        dtype = self._feature.numpy_dtype.newbyteorder("<")
        try:
            array = np.frombuffer(value, dtype).reshape(sizes)
        except ValueError:
            expected = f"{self._feature.dtype} of shape {shape_text(shape)}"
            raise RowFault(row, f"expected {expected}, found {len(value)} raw bytes") from None
        return array.view(np.uint16) if self._feature.dtype == "bfloat16" else array


class _TextConverter:
    """Makes lists of what the native gatherer does not know, or says why it is none."""

    def __init__(self, feature: Feature, shape: tuple[int | None, ...]) -> None:
        self._feature = feature
        self._shape = shape

    def __call__(self, row: int, value: Any, level: int) -> Any:
        dtype, shape = self._feature.dtype, self._shape[level:]
        if shape and isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "OSUT":
            items: list[Any] = value.tolist()
            if shape[0] in (None, len(items)):
                return items
        if isinstance(value, str | bytes) and not shape:
            raise RowFault(row, f"expected {dtype}, found {found_type(value)} that is not UTF-8")
        expected = f"{dtype} of shape {shape_text(shape)}" if shape else dtype
        raise RowFault(row, f"expected {expected}, found {found_type(value)}")
