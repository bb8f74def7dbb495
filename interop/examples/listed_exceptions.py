"""A slow and simple parser of messages for one question: which of the listed exceptions does one meet?

Where none is met, the validating walk agrees with protobuf. Groups are rejected here and skipped there; keys that are
not UTF-8 are read here and rejected there; an entry with an unknown field is kept here and dropped there.
"""

from __future__ import annotations

GROUP = "group"
KEY_NOT_TEXT = "key that is not UTF-8"
ODD_ENTRY = "unknown field in an entry"


class _Met(Exception):
    pass


def exceptions_met(message: bytes, *, sequence_example: bool) -> set[str]:
    """Walk a message up to its end, to the first group, or to where it is malformed."""
    met: set[str] = set()
    try:
        for number, content in _fields(message, {1, 2} if sequence_example else {1}, met):
            for _, entry in _fields(content, {1}, met):
                _walk_entry(entry, number == 2, met)
    except _Met:
        pass
    return met


def _walk_entry(entry: bytes, steps: bool, met: set[str]) -> None:
    unknown: set[str] = set()
    for number, content in _fields(entry, {1, 2}, met, unknown):
        if number == 1:
            try:
                content.decode()
            except UnicodeDecodeError:
                met.add(KEY_NOT_TEXT)
        elif steps:
            for _, step in _fields(content, {1}, met):
                _walk_feature(step, met)
        else:
            _walk_feature(content, met)
    if unknown:
        met.add(ODD_ENTRY)


def _walk_feature(feature: bytes, met: set[str]) -> None:
    for _, list_message in _fields(feature, {1, 2, 3}, met):
        for _ in _fields(list_message, set(), met):
            pass


def _fields(data: bytes, known: set[int], met: set[str], unknown: set[str] | None = None) -> list[tuple[int, bytes]]:
    """The length-delimited fields whose numbers are known."""
    found = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        start = at
        match wire_type:
            case 0:
                _, at = _varint(data, at)
            case 1:
                at += 8
            case 2:
                size, start = _varint(data, at)
                at = start + size
            case 3 | 4:
                met.add(GROUP)
                raise _Met
            case 5:
                at += 4
            case _:
                raise _Met
        if at > len(data):
            raise _Met
        if number in known and wire_type == 2:
            found.append((number, data[start:at]))
        elif unknown is not None:
            unknown.add("")
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise _Met
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise _Met
