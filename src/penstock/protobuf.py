"""Fields of protobuf messages, read and written without their definitions.

Messages are accepted and rejected as by protobuf, except that groups are rejected. Every length is compared with the
bytes that are left before it is used; what does not fit raises MalformedExampleError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.errors import MalformedExampleError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field of a message: its number, its wire type, and its number or bytes."""

    number: int
    wire: int
    value: Any


def read_fields(data: memoryview) -> Iterator[Field]:
    """Read the fields of any message."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise MalformedExampleError("a field has an impossible number")
        if wire == VARINT:
            value, position = _varint(data, position)
            yield Field(number, wire, value)
            continue
        if wire == BYTES:
            size, position = _varint(data, position)
        elif wire in (FIXED32, FIXED64):
            size = 4 if wire == FIXED32 else 8
        else:
            raise MalformedExampleError(f"a field has wire type {wire}, which no Example has")
        if size > end - position:
            raise MalformedExampleError(f"a field claims {size} bytes where {end - position} are left")
        yield Field(number, wire, data[position : position + size])
        position += size


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    if position < len(data) and data[position] < 0x80:  # most are tags and short lengths
        return data[position], position + 1
    number = 0
    for place, byte in enumerate(data[position : position + 10]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number & 0xFFFF_FFFF_FFFF_FFFF, position + place + 1
    raise MalformedExampleError("a variable-length integer has no end")


def write_field(number: int, content: bytes) -> bytes:
    """Encode a field that holds bytes."""
    return write_varint(number << 3 | BYTES) + write_varint(len(content)) + content


def write_varint(number: int) -> bytes:
    """Encode a variable-length integer."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
