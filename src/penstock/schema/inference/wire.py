"""Reads what an Example or a SequenceExample holds, without a schema and without decoding all of it.

It accepts, refuses and merges as protobuf does (groups are refused). Every length is compared with the bytes that are
there before it is used; whatever does not fit is a MalformedExampleError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from penstock.errors import MalformedExampleError
from penstock.schema.feature import Kind

Section: TypeAlias = Literal["context", "sequence"]

# Numbers are counted; so many of them are decoded, to be shown.
SHOWN = 4

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_KINDS: dict[int, Kind] = {1: "bytes", 2: "float", 3: "int64"}


class Values(NamedTuple):
    """The list of one Feature: its kind (None where it is unset), its length, and values (of numbers, the first)."""

    kind: Kind | None
    length: int
    values: tuple[Any, ...]


class Found(NamedTuple):
    """One key of a record: in the context with one list, in the sequence with a list for each step."""

    section: Section
    key: str
    steps: tuple[Values, ...]


class Field(NamedTuple):
    """One field of a message: its number, its wire type, and its number or bytes."""

    number: int
    wire: int
    value: Any


def read_features(payload: bytes) -> Iterator[Found]:
    """Read the features of a serialized Example or SequenceExample; of equal keys, the last."""
    found: dict[tuple[Section, str], Found] = {}
    for field in read_fields(memoryview(payload)):
        if field.wire != BYTES or field.number not in (1, 2):
            continue
        section: Section = "context" if field.number == 1 else "sequence"
        for entry in read_fields(field.value):
            if (entry.number, entry.wire) == (1, BYTES):
                feature = _read_entry(section, entry.value)
                found[section, feature.key] = feature
    yield from found.values()


def has_sequence(payload: bytes) -> bool:
    """Whether a record has feature lists, which make it a SequenceExample."""
    return any((field.number, field.wire) == (2, BYTES) for field in read_fields(memoryview(payload)))


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


def _read_entry(section: Section, entry: memoryview) -> Found:
    key = b""
    parts = []
    for field in read_fields(entry):
        if (field.number, field.wire) == (1, BYTES):
            key = bytes(field.value)
        elif (field.number, field.wire) == (2, BYTES):
            parts.append(field.value)
    name = key.decode("utf-8", "surrogateescape")
    try:
        if section == "context":
            return Found(section, name, (_read_feature(parts),))
        lists = [field.value for part in parts for field in read_fields(part) if field[:2] == (1, BYTES)]
        return Found(section, name, tuple(_read_feature([item]) for item in lists))
    except MalformedExampleError as error:
        raise MalformedExampleError(str(error), feature=name) from None


def _read_feature(parts: list[memoryview]) -> Values:
    kind: Kind | None = None
    lists: list[memoryview] = []
    for part in parts:
        for field in read_fields(part):
            if field.wire == BYTES and field.number in _KINDS:
                if kind != _KINDS[field.number]:
                    kind, lists = _KINDS[field.number], []
                lists.append(field.value)
    items = [field for part in lists for field in read_fields(part) if field.number == 1]
    match kind:
        case "bytes":
            values = tuple(bytes(field.value) for field in items if field.wire == BYTES)
            return Values(kind, len(values), values)
        case "float":
            return _count(kind, [_floats(field) for field in items if field.wire in (BYTES, FIXED32)])
        case "int64":
            return _count(kind, [_integers(field) for field in items if field.wire in (BYTES, VARINT)])
    return Values(None, 0, ())


def _count(kind: Kind, runs: list[tuple[int, list[Any]]]) -> Values:
    shown = [value for _, values in runs[:SHOWN] for value in values]
    return Values(kind, sum(count for count, _ in runs), tuple(shown[:SHOWN]))


def _floats(field: Field) -> tuple[int, list[Any]]:
    count, rest = divmod(len(field.value), 4)
    if rest:
        raise MalformedExampleError(f"{len(field.value)} bytes are no whole number of floats")
    shown = min(count, SHOWN)
    return count, list(struct.unpack(f"<{shown}f", field.value[: 4 * shown]))


def _integers(field: Field) -> tuple[int, list[Any]]:
    if field.wire == VARINT:
        return 1, [_signed(field.value)]
    size = len(field.value)
    ends = np.flatnonzero(np.frombuffer(field.value, np.uint8) < 0x80)
    if size and (not len(ends) or ends[-1] != size - 1 or ends[0] > 9 or (size > 10 and np.diff(ends).max() > 10)):
        raise MalformedExampleError("a variable-length integer has no end")
    shown: list[Any] = []
    position = 0
    while position < size and len(shown) < SHOWN:
        number, position = _varint(field.value, position)
        shown.append(_signed(number))
    return len(ends), shown


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
