"""Convert rows of Python objects to columns: common values natively, the others here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.codec.decode_blobs import is_blob
from penstock.codec.encode_values import Float64, as_array, convert_array, found_type, is_untyped, shape_text
from penstock.columns import AnyColumn, BytesColumn, Nullable, Ragged
from penstock.errors import RowFault
from penstock.schema import Feature, Schema
from penstock.schema.dtype import FLOATS, TEXT
from penstock.schema.feature import fits_shape
from penstock.schema.schema import unknown_feature

_Build: TypeAlias = Callable[[Any], Any]
"""Builds a column from the result of the native gatherer."""


class Gatherer:
    """Collects rows into the columns of a schema. Values are copied, so the caller may change them afterwards.

    Images and tensors stay a list of objects. A row that does not fit raises a RowFault.
    """

    def __init__(self, schema: Schema, float64: Float64 | None) -> None:
        # Not a bound method: it would form a reference cycle through the native object, which is never collected.
        self._native = _core.RowGatherer(functools.partial(_check_row, tuple(schema)))
        self._schema = schema
        self._builds = [
            _plan(self._native, name, feature, name in schema.sequence, float64) for name, feature in schema.items()
        ]
        self.add = self._native.add
        """Add a row: a mapping of names to values."""
        self.extend = self._native.extend
        """Add ``rows[start:]`` until there are ``limit`` bytes or ``most`` rows; return the first row not added."""

    def __len__(self) -> int:
        return len(self._native)

    @property
    def nbytes(self) -> int:
        """The approximate number of bytes collected."""
        return self._native.nbytes

    def take(self) -> dict[str, Any]:
        """Return the columns, and start over."""
        native = self._native.take()
        return {name: build(taken) for name, build, taken in zip(self._schema, self._builds, native, strict=True)}


def gather(values: list[Any], feature: Feature, *, sequence: bool, float64: Float64 | None) -> AnyColumn:
    """Convert the values of one feature to a column of its dtype and shape; None is an absent row."""
    native = _core.RowGatherer(_check_row)
    build = _plan(native, "", feature, sequence, float64)
    native.add_values(values)
    column: AnyColumn = build(native.take()[0])
    return column


def copy_value(value: Any) -> Any:
    """Copy a value that may change; the native code handles immutable ones."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return _core.hold_row(dict(value), copy_value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple):
        return [copy_value(item) for item in value]
    if hasattr(value, "detach"):  # a torch tensor
        return as_array(value).copy()
    return value


def _plan(native: _core.RowGatherer, name: str, feature: Feature, sequence: bool, float64: Float64 | None) -> _Build:
    """Add a feature to the native gatherer; return the function that builds its column."""
    if is_blob(feature):
        native.add_objects(name, copy_value)
        return _identity
    shape = (None, *feature.shape) if sequence else feature.shape
    sizes = [-1 if size is None else size for size in shape]
    inner = tuple(size for size in feature.inner_shape if size is not None)
    if feature.dtype in TEXT:
        text = feature.dtype == "str"
        native.add_strings(name, text, sizes, _TextConverter(name, feature, shape))

        def items_of(memory: Any, items: int | None) -> AnyColumn:
            views, buffers = memory
            data = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
            return BytesColumn(views, data, text=text, shape=inner, rows=items)
    else:
        dtype = feature.numpy_dtype
        native.add_numbers(name, feature.dtype, sizes, _NumberConverter(name, feature, shape, float64))

        def items_of(memory: Any, items: int | None) -> AnyColumn:
            values: NDArray[Any] = memory[0].view(dtype)
            return values.reshape(-1 if items is None else items, *inner)

    empty = 0 in inner  # then the number of values does not determine the number of rows

    def build(taken: Any) -> AnyColumn:
        memory, lengths, valid, rows = taken
        items = (int(lengths[-1].sum()) if lengths else rows) if empty else None
        column = items_of(memory, items)
        for level in reversed(lengths):
            column = Ragged.from_lengths(column, level)
        return column if valid is None else Nullable(column, valid)

    return build


def _check_row(names: tuple[str, ...], row: int, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise RowFault(row, f"a row must be a mapping of names to values, found {type(value).__name__}")
    for name in value:
        if name not in names:
            raise RowFault(row, str(unknown_feature(name, names)))


def _identity(values: list[Any]) -> list[Any]:
    return values


class _NumberConverter:
    """Converts values that the native gatherer does not handle to arrays."""

    def __init__(self, name: str, feature: Feature, shape: tuple[int | None, ...], float64: Float64 | None) -> None:
        self._name = name
        self._feature = feature
        self._shape = shape
        self._float64 = float64

    def __call__(self, row: int, value: Any, level: int) -> Any:
        dtype, shape = self._feature.dtype, self._shape[level:]
        if isinstance(value, bytes) and self._feature.encoding == "raw" and shape:
            return self._from_raw_bytes(row, value, shape)
        array = self._array(row, value, shape)
        if array.dtype == object and array.ndim and array is value:
            return array.tolist()  # the gatherer descends into the list
        if shape[:1] == (None,) and array.ndim == 1 and is_untyped(array):
            array = array.reshape(0, *(size or 0 for size in shape[1:]))
        number = array.dtype.kind in "biufV" and not isinstance(value, str | bytes)
        if not number or (type(value) is float and dtype not in FLOATS):
            raise RowFault(row, f"expected {dtype}, found {found_type(value)}", self._name)
        if not fits_shape(array.shape, shape):
            found = f"an item of shape {shape_text(array.shape)} at depth {level}" if level else shape_text(array.shape)
            raise RowFault(row, f"expected {dtype} of shape {shape_text(self._shape)}, found {found}", self._name)
        try:
            converted = convert_array(array, dtype, self._float64)
        except RowFault as fault:
            raise RowFault(row, fault.message, self._name) from None
        return converted.view(np.uint16) if dtype == "bfloat16" else converted

    def _array(self, row: int, value: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
        dtype = self._feature.dtype
        if type(value) is float and dtype in FLOATS:
            # Round as TensorFlow does, but never to infinity.
            with np.errstate(over="ignore"):
                rounded = np.asarray(value).astype(self._feature.numpy_dtype)
            if np.isinf(rounded) and not np.isinf(value):
                raise RowFault(row, f"found {value!r}, which {dtype} does not hold", self._name)
            return rounded
        if type(value) is int and not -(1 << 63) <= value < 1 << 64:
            raise RowFault(
                row, f"found an integer of {value.bit_length()} bits, which {dtype} does not hold", self._name
            )
        try:
            return as_array(value)
        except (TypeError, ValueError, RuntimeError) as error:
            expected = f"{dtype} of shape {shape_text(shape)}" if shape else dtype
            raise RowFault(row, f"expected {expected}, found {found_type(value)} ({error})", self._name) from None

    def _from_raw_bytes(self, row: int, value: bytes, shape: tuple[int | None, ...]) -> NDArray[Any]:
        sizes = [-1 if size is None else size for size in shape]
        dtype = self._feature.numpy_dtype.newbyteorder("<")
        try:
            array = np.frombuffer(value, dtype).reshape(sizes)
        except ValueError:
            expected = f"{self._feature.dtype} of shape {shape_text(shape)}"
            raise RowFault(row, f"expected {expected}, found {len(value)} raw bytes", self._name) from None
        return array.view(np.uint16) if self._feature.dtype == "bfloat16" else array


class _TextConverter:
    """Converts values that the native gatherer does not handle to lists of strings, or raises."""

    def __init__(self, name: str, feature: Feature, shape: tuple[int | None, ...]) -> None:
        self._name = name
        self._feature = feature
        self._shape = shape

    def __call__(self, row: int, value: Any, level: int) -> Any:
        dtype, shape = self._feature.dtype, self._shape[level:]
        if shape and isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "OSUT":
            items: list[Any] = value.tolist()
            if shape[0] in (None, len(items)):
                return items
        if shape[:1] == (None,) and isinstance(value, np.ndarray) and is_untyped(value):
            return []
        if isinstance(value, str | bytes) and not shape:
            raise RowFault(row, f"expected {dtype}, found {found_type(value)} that is not UTF-8", self._name)
        expected = f"{dtype} of shape {shape_text(shape)}" if shape else dtype
        raise RowFault(row, f"expected {expected}, found {found_type(value)}", self._name)
