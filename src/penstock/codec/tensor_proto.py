"""TensorProto: an array with its dtype and shape, serialized as by ``tf.io.serialize_tensor``.

Numbers are written as little-endian bytes, strings one by one. Other writers put numbers in typed lists, which may be
shorter than the tensor; the last value is then repeated. A few bytes can thus declare terabytes, so the declared size
is checked before anything is allocated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import MalformedExampleError
from penstock.protobuf import BYTES, VARINT, read_fields, write_field, write_varint
from penstock.schema.dtype import BY_NAME, BY_NUMBER, TensorType, numpy_dtype

# The limit of NumPy 1.
MAX_RANK = 32

MAX_FILLED_BYTES = 64 << 20
"""The largest array to allocate for a tensor that does not list all of its values."""


# Field numbers of a TensorProto.
_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8
_FIXED_LISTS = {5: 4, 6: 8, 9: 4, 12: 8}  # fields of floats and of the parts of complex numbers: size of one
_VARINT_LISTS = frozenset({7, 10, 11, 13, 16, 17})


def serialize_tensor(array: ArrayLike) -> bytes:
    """Serialize an array as a TensorProto, byte for byte as ``tf.io.serialize_tensor``.

    >>> serialize_tensor(np.float32(1.5)).hex()
    '0801120022040000c03f'
    """
    values = np.asarray(array)
    name = "bytes" if values.dtype.kind in "OSUT" else values.dtype.name
    if name not in BY_NAME:
        raise TypeError(f"a TensorProto cannot hold {name}: use one of {', '.join(sorted(BY_NAME))}")
    # A dimension of size 0 is an empty message: protobuf does not write zeros.
    sizes = (b"\x08" + write_varint(size) if size else b"" for size in values.shape)
    shape = b"".join(write_field(2, size) for size in sizes)
    head = b"\x08" + write_varint(BY_NAME[name].number) + write_field(_SHAPE, shape)
    if name == "bytes":
        return head + b"".join(write_field(_STRINGS, _encoded(value)) for value in values.ravel().tolist())
    content = values.astype(_little_endian(values.dtype), copy=False).tobytes()
    return head + write_field(_CONTENT, content) if content else head


def parse_tensor(
    data: bytes | bytearray | memoryview,
    dtype: str | np.dtype[Any] | None = None,
    *,
    max_bytes: int = MAX_FILLED_BYTES,
) -> NDArray[Any]:
    """Parse a serialized TensorProto into a new array; strings become an object array of bytes.

    Args:
        data: The serialized message.
        dtype: The dtype that the tensor must have (``"str"`` and ``"bytes"`` are equivalent); None accepts any.
        max_bytes: The largest array to allocate for a tensor that does not list all of its values.

    Raises:
        MalformedExampleError: ``data`` is not a TensorProto, is inconsistent, or has another dtype.
    """
    message = _read(memoryview(data).cast("B"))
    type_ = BY_NUMBER.get(message.dtype)
    if type_ is None:
        raise MalformedExampleError(f"a tensor has dtype number {message.dtype}, which has no NumPy equivalent")
    if dtype is not None and type_.name != ("bytes" if str(dtype) == "str" else str(dtype)):
        raise MalformedExampleError(f"expected a tensor of {dtype}, found {type_.name}")
    values_dtype = np.dtype(object) if type_.name == "bytes" else _numpy_dtype(type_.name)
    count = _count_elements(message.shape, values_dtype.itemsize)
    if count and message.content:
        values = (
            _split_strings(message.content, count) if type_.name == "bytes" else _numbers(message.content, values_dtype)
        )
        if len(values) != count:
            raise MalformedExampleError(f"a tensor of shape {message.shape} has content for {len(values)} elements")
    else:
        values = _fill(_listed_values(message, type_, values_dtype), count, values_dtype, max_bytes)
    return values.reshape(message.shape)


class _Message:
    """The fields of one TensorProto, merged as protobuf merges them."""

    def __init__(self) -> None:
        self.dtype = 0
        self.shape: tuple[int, ...] = ()
        self.content = memoryview(b"")
        self.strings: list[bytes] = []
        self.lists: defaultdict[int, bytearray] = defaultdict(bytearray)
        """Numbers by field, packed."""


def _read(data: memoryview) -> _Message:
    message = _Message()
    sizes: list[int] = []
    for number, wire, value in read_fields(data):
        if wire == VARINT:
            if number == _DTYPE:
                message.dtype = value & 0xFFFF_FFFF
            elif number in _VARINT_LISTS:
                message.lists[number] += write_varint(value)
        elif number in _FIXED_LISTS:
            size = _FIXED_LISTS[number]
            if wire == BYTES and len(value) % size:
                raise MalformedExampleError(
                    f"{len(value)} bytes are not a multiple of {size} bytes, the size of a value"
                )
            if wire == BYTES or len(value) == size:
                message.lists[number] += value
        elif wire == BYTES:
            if number == _SHAPE:
                sizes += _read_shape(value)
            elif number == _CONTENT:
                message.content = value
            elif number == _STRINGS:
                message.strings.append(bytes(value))
            elif number in _VARINT_LISTS:
                if len(value) and value[-1] > 0x7F:
                    raise MalformedExampleError("a variable-length integer has no end")
                message.lists[number] += value
    message.shape = tuple(sizes)
    return message


def _read_shape(data: memoryview) -> list[int]:
    sizes = []
    for number, wire, dimension in read_fields(data):
        if (number, wire) == (2, BYTES):
            size = 0
            for inner, inner_wire, value in read_fields(dimension):
                if (inner, inner_wire) == (1, VARINT):
                    size = value
            sizes.append(size)
    return sizes


def _count_elements(shape: tuple[int, ...], itemsize: int) -> int:
    if len(shape) > MAX_RANK:
        raise MalformedExampleError(f"a tensor has {len(shape)} dimensions, more than {MAX_RANK}")
    if any(size >> 63 for size in shape):
        raise MalformedExampleError("a tensor has a negative dimension")
    # NumPy and TensorFlow reject sizes that overflow, even if another dimension is 0.
    if math.prod(size or 1 for size in shape) * itemsize >> 63:
        raise MalformedExampleError(f"a tensor of shape {shape} has more elements than can be counted")
    return math.prod(shape)


def _numbers(content: memoryview, dtype: np.dtype[Any]) -> NDArray[Any]:
    if len(content) % dtype.itemsize:
        raise MalformedExampleError(f"{len(content)} bytes are not a multiple of the size of {dtype}")
    if dtype == np.bool_ and np.frombuffer(content, np.uint8).max() > 1:
        raise MalformedExampleError("a tensor of bool has a byte that is neither 0 nor 1")
    return np.frombuffer(content, _little_endian(dtype)).astype(dtype)


def _split_strings(content: memoryview, count: int) -> NDArray[Any]:
    """Split strings in ``tensor_content``: first the lengths of all, then their bytes."""
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) < 0x80)
    if len(ends) < count:
        raise MalformedExampleError(f"a tensor of {count} strings has only {len(ends)} lengths")
    position = int(ends[count - 1]) + 1
    lengths = _varints(content[:position]).tolist()
    if position + sum(lengths) != len(content):
        raise MalformedExampleError("the lengths of the strings of a tensor do not add up to its size")
    strings = np.empty(count, object)
    for index, length in enumerate(lengths):
        strings[index] = bytes(content[position : position + length])
        position += length
    return strings


def _listed_values(message: _Message, type_: TensorType, dtype: np.dtype[Any]) -> NDArray[Any]:
    if type_.name == "bytes":
        strings = np.empty(len(message.strings), object)
        strings[:] = message.strings
        return strings
    stored = message.lists[type_.field]
    if type_.field in _FIXED_LISTS:
        whole = len(stored) // dtype.itemsize  # ignore an incomplete complex number
        return np.frombuffer(stored, _little_endian(dtype), whole).astype(dtype)
    bits = _varints(stored)
    if type_.name == "bool":
        return bits.astype(np.bool_)
    return bits.astype(f"u{dtype.itemsize}").view(dtype)  # narrow types use the low bits


def _fill(values: NDArray[Any], count: int, dtype: np.dtype[Any], max_bytes: int) -> NDArray[Any]:
    """Truncate values to ``count``, or repeat the last one."""
    if len(values) >= count:
        return values[:count]
    if count * dtype.itemsize > max_bytes:
        raise MalformedExampleError(
            f"a tensor of {count} elements lists only {len(values)} of them, and would take more than {max_bytes} bytes"
        )
    last = values[-1] if len(values) else b"" if dtype.hasobject else 0
    filled = np.full(count, last, dtype)
    filled[: len(values)] = values
    return filled


def _varints(data: memoryview | bytearray) -> NDArray[np.uint64]:
    """Decode packed varints."""
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    starts = np.concatenate([[0], ends + 1])
    lengths = np.diff(starts)
    if starts[-1] != len(raw) or lengths.max(initial=0) > 10:
        raise MalformedExampleError("a variable-length integer has no end")
    numbers = np.zeros(len(ends), np.uint64)
    for place in range(lengths.max(initial=0)):
        longer = np.flatnonzero(lengths > place)
        part = (raw[starts[longer] + place] & 0x7F).astype(np.uint64)
        numbers[longer] |= part << np.uint64(7 * place)
    return numbers


def _encoded(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"a TensorProto of strings holds bytes or str, not {type(value).__name__}")


def _numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(name) if name.startswith("complex") else numpy_dtype(name)


def _little_endian(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder("<")
