"""Writes Examples and SequenceExamples, field by field."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(number: int) -> bytes:
    """A number as protobuf packs it; negative ones in two's complement."""
    number &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def feature(values: Any) -> bytes:
    """A Feature: of bytes, floats or ints by its first value; None is an unset one."""
    if values is None:
        return b""
    if isinstance(values, bytes | str | int | float):
        values = [values]
    first = next(iter(values), 0)
    if isinstance(first, bytes | str):
        items = [value.encode() if isinstance(value, str) else value for value in values]
        return field(1, b"".join(field(1, item) for item in items))
    if isinstance(first, float):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    return field(3, field(1, b"".join(map(varint, values))) if len(values) else b"")


def features(values: Mapping[str, Any]) -> bytes:
    """A Features message."""
    return b"".join(field(1, field(1, key.encode()) + field(2, feature(value))) for key, value in values.items())


def example(**values: Any) -> bytes:
    """A serialized Example."""
    return field(1, features(values))


def example_list(examples: Sequence[bytes], context: bytes | None = None) -> bytes:
    """A serialized ExampleListWithContext."""
    return b"".join(field(1, example) for example in examples) + (b"" if context is None else field(2, context))


def sequence_example(context: Mapping[str, Any], lists: Mapping[str, Sequence[Any]]) -> bytes:
    """A serialized SequenceExample."""
    entries = [
        field(1, field(1, key.encode()) + field(2, b"".join(field(1, feature(step)) for step in steps)))
        for key, steps in lists.items()
    ]
    return field(1, features(context)) + field(2, b"".join(entries))
