"""``dataset_spec.pb`` and ``snapshot.metadata``: what TensorFlow writes beside the elements of a saved data set.

Of its StructuredValue there are the kinds that elements have: tensors in dicts, tuples and lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from penstock.errors import MalformedExampleError
from penstock.protobuf import BYTES, VARINT, read_fields, write_field, write_varint
from penstock.tf.dtypes import as_dtype
from penstock.tf.errors import DataLossError, UnimplementedError
from penstock.tf.shape import TensorShape
from penstock.tf.specs import TensorSpec

_TENSOR, _LIST, _TUPLE, _DICT = 33, 51, 52, 53  # the fields of a StructuredValue
_UNKNOWN_SIZE = (1 << 64) - 1  # -1, as a varint has it

_VERSION = 2  # of which elements are TFRecords of TensorProtos


class Metadata(NamedTuple):
    """Which folder holds the elements, and how many there are."""

    run: str
    elements: int


def encode_spec(spec: Any) -> bytes:
    """Write the specs of elements."""
    if isinstance(spec, TensorSpec):
        return write_field(_TENSOR, _shape(spec.shape) + _number(3, spec.dtype.as_datatype_enum))
    if isinstance(spec, dict):
        if not all(isinstance(key, str) for key in spec):
            raise UnimplementedError("Dataset.save keeps dicts whose keys are strings")
        entries = (write_field(1, key.encode()) + write_field(2, encode_spec(item)) for key, item in spec.items())
        return write_field(_DICT, b"".join(write_field(1, entry) for entry in entries))
    if isinstance(spec, tuple) and not hasattr(spec, "_fields"):
        return write_field(_TUPLE, b"".join(write_field(1, encode_spec(item)) for item in spec))
    raise UnimplementedError(f"Dataset.save keeps tensors, in tuples and dicts, and not {type(spec).__name__}")


def decode_spec(data: bytes) -> Any:
    """Read the specs of elements; the keys of dicts come in order."""
    with _reading("dataset_spec.pb"):
        return _spec(memoryview(data))


def encode_metadata(metadata: Metadata, dtypes: list[int], microseconds: int) -> bytes:
    """Write which folder holds the elements."""
    kinds = b"".join(map(write_varint, dtypes))
    return b"".join(
        [
            write_field(2, metadata.run.encode()),
            _number(3, microseconds),
            _number(4, _VERSION),
            write_field(5, kinds),
            _number(6, metadata.elements),
            _number(1000, 1),  # complete
        ]
    )


def decode_metadata(data: bytes) -> Metadata:
    """Read which folder holds the elements."""
    with _reading("snapshot.metadata"):
        numbers = {number: value for number, wire, value in read_fields(memoryview(data)) if wire == VARINT}
        run = "".join(bytes(value).decode() for number, wire, value in read_fields(memoryview(data)) if number == 2)
        if not run.isdigit():
            raise ValueError(f"{run!r} names no folder")
    if numbers.get(4) != _VERSION or not numbers.get(1000):
        raise UnimplementedError(
            "the data set was saved in part, or by a TensorFlow that is too old: save it again, with a newer one"
        )
    return Metadata(run, numbers.get(6, 0))


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except (MalformedExampleError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise DataLossError(f"{name} of a saved data set cannot be read: {error}") from error


def _spec(data: memoryview) -> Any:
    for number, wire, value in read_fields(data):
        if wire != BYTES:
            break
        if number == _TENSOR:
            return _tensor(value)
        if number == _DICT:
            entries = dict(_entry(entry) for entry in _repeated(value))
            return {key: entries[key] for key in sorted(entries)}
        if number in (_TUPLE, _LIST):
            return tuple(_spec(item) for item in _repeated(value))
        break
    raise UnimplementedError(
        "the data set was saved with other elements than tensors in dicts and tuples, which penstock.tf does not load"
    )


def _repeated(data: memoryview) -> list[memoryview]:
    return [value for number, wire, value in read_fields(data) if number == 1 and wire == BYTES]


def _entry(data: memoryview) -> tuple[str, Any]:
    parts = {number: value for number, wire, value in read_fields(data) if wire == BYTES}
    return bytes(parts[1]).decode(), _spec(parts[2])


def _tensor(data: memoryview) -> TensorSpec:
    shape, dtype = TensorShape([]), 0
    for number, wire, value in read_fields(data):
        if number == 2 and wire == BYTES:
            shape = _read_shape(value)
        elif number == 3 and wire == VARINT:
            dtype = value
    return TensorSpec(shape, as_dtype(dtype))


def _read_shape(data: memoryview) -> TensorShape:
    sizes: list[int | None] = []
    for number, wire, value in read_fields(data):
        if number == 3 and wire == VARINT and value:
            return TensorShape(None)
        if number == 2 and wire == BYTES:
            size = next((size for place, kind, size in read_fields(value) if place == 1 and kind == VARINT), 0)
            sizes.append(None if size == _UNKNOWN_SIZE else size)
    return TensorShape(sizes)


def _shape(shape: TensorShape) -> bytes:
    if shape.rank is None:
        return write_field(2, _number(3, 1))
    sizes = (_number(1, _UNKNOWN_SIZE if size is None else size) for size in shape.as_list())
    return write_field(2, b"".join(write_field(2, size) for size in sizes))


def _number(number: int, value: int) -> bytes:
    return write_varint(number << 3) + write_varint(value) if value else b""
