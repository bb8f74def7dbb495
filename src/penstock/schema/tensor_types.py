"""The element types that a TensorProto holds: their numbers, and where their values stand."""

from __future__ import annotations

from typing import NamedTuple


class TensorType(NamedTuple):
    """An element type of TensorFlow."""

    name: str
    number: int
    """What stands for it in ``TensorProto.dtype``."""
    field: int
    """The field of a TensorProto that lists values of it."""
    size: int
    """Bytes of an element in ``TensorProto.tensor_content``; 0 where they differ."""


_TYPES = (
    TensorType("float32", 1, 5, 4),
    TensorType("float64", 2, 6, 8),
    TensorType("int32", 3, 7, 4),
    TensorType("uint8", 4, 7, 1),
    TensorType("int16", 5, 7, 2),
    TensorType("int8", 6, 7, 1),
    TensorType("bytes", 7, 8, 0),
    TensorType("complex64", 8, 9, 8),
    TensorType("int64", 9, 10, 8),
    TensorType("bool", 10, 11, 1),
    TensorType("bfloat16", 14, 13, 2),
    TensorType("uint16", 17, 7, 2),
    TensorType("complex128", 18, 12, 16),
    TensorType("float16", 19, 13, 2),
    TensorType("uint32", 22, 16, 4),
    TensorType("uint64", 23, 17, 8),
)

BY_NAME = {type_.name: type_ for type_ in _TYPES}
BY_NUMBER = {type_.number: type_ for type_ in _TYPES}
