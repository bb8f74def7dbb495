"""Bytes as no serializer writes them: read as protobuf reads them, but for the listed exceptions.

The numbers are the rows of a table of what parsers disagree about. Each case is read as a whole, and decoded.
"""

from __future__ import annotations

from typing import Any

import pytest
from schema_examples import field, varint

from penstock import Decoder, Feature, MalformedExampleError, Schema, _core


def ints(*values: int) -> bytes:
    """A packed run."""
    return field(1, b"".join(map(varint, values)))


def int_feature(*parts: bytes) -> bytes:
    return field(3, b"".join(parts))


def entry(value: bytes, key: bytes = b"a") -> bytes:
    return field(1, field(1, key) + field(2, value))


def record(value: bytes) -> bytes:
    """An Example with one feature, ``a``."""
    return field(1, entry(value))


UNKNOWN = b"\x20\x01"  # field 4, a varint
ONE = int_feature(ints(1))
GROUP = b"\x23\x24"  # field 4

READ: dict[str, tuple[bytes, tuple[str, list[Any]]]] = {
    "1 two packed runs": (record(int_feature(ints(1, 2), ints(3))), ("int64", [1, 2, 3])),
    "2 packed, then unpacked": (record(int_feature(ints(1), b"\x08\x02\x08\x03")), ("int64", [1, 2, 3])),
    "3 unpacked, then packed": (record(int_feature(b"\x08\x01", ints(2, 3))), ("int64", [1, 2, 3])),
    "4 an empty run first": (record(int_feature(ints(), ints(5))), ("int64", [5])),
    "4 an empty float run first": (record(field(2, field(1, b"") + field(1, b"\0\0\x80?"))), ("float", [1.0])),
    "6 unknown after a run": (record(int_feature(ints(1), UNKNOWN)), ("int64", [1])),
    "7 unknown before a run": (record(int_feature(UNKNOWN, ints(1))), ("int64", [1])),
    "7 unknown among strings": (
        record(field(1, field(1, b"x") + UNKNOWN + field(1, b"y"))),
        ("bytes", [b"x", b"y"]),
    ),
    "8 unknown first in a Feature": (record(UNKNOWN + ONE), ("int64", [1])),
    "9 unknown after the kind": (record(ONE + UNKNOWN), ("int64", [1])),
    "10 unknown in the map": (field(1, UNKNOWN + entry(ONE)), ("int64", [1])),
    "10 unknown in an entry keeps it": (
        field(1, field(1, field(1, b"a") + UNKNOWN + field(2, ONE))),
        ("int64", [1]),
    ),
    "11 unknown fields at the top": (
        UNKNOWN + record(ONE) + b"\x25\0\0\0\0" + b"\x21" + bytes(8) + field(9, b"whatever"),
        ("int64", [1]),
    ),
    "14 another kind, the last wins": (record(ONE + field(2, field(1, b"\0\0\x80?"))), ("float", [1.0])),
    "14 back to the first kind": (record(ONE + field(2, b"") + int_feature(ints(2))), ("int64", [2])),
    "15 the same kind again": (record(ONE + int_feature(ints(2))), ("int64", [1, 2])),
    "16 a key again, the last wins": (field(1, entry(ONE) + entry(int_feature(ints(2)))), ("int64", [2])),
    "16 a key again, of another kind": (field(1, entry(field(1, field(1, b"x"))) + entry(ONE)), ("int64", [1])),
    "17 a key again, unset": (field(1, entry(ONE) + entry(b"")), ("unset", [])),
    "18 an entry without a value": (field(1, field(1, field(1, b"a"))), ("unset", [])),
    "21 the value before the key": (field(1, field(1, field(2, ONE) + field(1, b"a"))), ("int64", [1])),
    "22 the key twice": (field(1, field(1, field(1, b"b") + field(1, b"a") + field(2, ONE))), ("int64", [1])),
    "23 the value twice": (
        field(1, field(1, field(1, b"a") + field(2, ONE) + field(2, int_feature(ints(2))))),
        ("int64", [1, 2]),
    ),
    "23 the value twice, of two kinds": (
        field(1, field(1, field(1, b"a") + field(2, field(2, b"")) + field(2, ONE))),
        ("int64", [1]),
    ),
    "26 a tag in two bytes": (b"\x8a\x00" + record(ONE)[1:], ("int64", [1])),
    "26 a tag in two bytes, deep": (record(b"\x9a\x00" + ONE[1:]), ("int64", [1])),
    "27 a length in two bytes": (record(b"\x1a\x83\x00\x0a\x01\x01"), ("int64", [1])),
    "27 a length in five bytes": (record(b"\x1a\x83\x80\x80\x80\x00\x0a\x01\x01"), ("int64", [1])),
    "29 another wire type at the top": (b"\x08\x01" + record(ONE), ("int64", [1])),
    "two messages are one": (field(1, entry(b"", b"b")) + record(ONE), ("int64", [1])),
    "two messages, a key again": (record(int_feature(ints(9))) + record(ONE), ("int64", [1])),
    "a varint in ten bytes": (record(int_feature(field(1, b"\xff" * 9 + b"\x01"))), ("int64", [-1])),
    "bits above the 64th": (record(int_feature(field(1, b"\xff" * 9 + b"\x7f"))), ("int64", [-1])),
    "a zero in ten bytes": (record(int_feature(field(1, b"\x80" * 9 + b"\x02"))), ("int64", [0])),
    "another wire type in a list": (record(int_feature(b"\x0d\0\0\0\0", ints(1))), ("int64", [1])),
}


@pytest.mark.parametrize("case", READ)
def test_what_protobuf_reads_is_read(case: str):
    message, expected = READ[case]
    contents = _core.read_example(message)
    assert contents is not None
    assert contents[0][b"a"] == expected
    kind, values = expected
    schema = Schema({"a": Feature({"float": "float32", "bytes": "bytes"}.get(kind, "int64"), (None,), optional=True)})
    for threads in (1, 2):
        column = Decoder(schema, validate="all", threads=threads).decode([message] * 3)["a"]
        assert column.to_list() == [None if kind == "unset" else values] * 3
    if kind != "unset":
        dense = Schema({"a": schema["a"].replace(shape=(len(values),), optional=False)})
        assert Decoder(dense).decode([message]).to_list() == [{"a": values}]


NAMELESS = {
    "19 an entry without a key": (field(1, field(1, field(2, ONE))), ("int64", [1])),
    "20 an empty entry": (field(1, field(1, b"")), ("unset", [])),
    "22 the value twice and no key": (
        field(1, field(1, field(2, ONE) + field(2, int_feature(ints(2))))),
        ("int64", [1, 2]),
    ),
}


@pytest.mark.parametrize("case", NAMELESS)
def test_an_entry_without_a_key_has_the_empty_one(case: str):
    message, expected = NAMELESS[case]
    assert _core.read_example(message) == ({b"": expected}, {})
    schema = Schema({"nameless": Feature("int64", (None,), key="", optional=True)})
    assert Decoder(schema).decode([message])["nameless"].to_list() == [expected[1] or None]


REFUSED: dict[str, bytes] = {
    "5 floats of three bytes": record(field(2, field(1, b"\0\0\x80"))),
    "12 an unknown field past the end": record(ONE) + b"\x22\x05abc",
    "13 a group": record(ONE) + GROUP,
    "13 a group in a list": record(int_feature(ints(1), GROUP)),
    "13 a group in a Feature": record(ONE + GROUP),
    "13 a group in an entry": field(1, field(1, field(1, b"a") + field(2, ONE) + GROUP)),
    "24 Features past the end": record(ONE)[:-1],
    "24 an entry past the end": field(1, entry(ONE)[:-1]),
    "24 a list past the end": record(b"\x1a\x04\x0a\x01\x01"),
    "24 a run past the end": record(int_feature(b"\x0a\x02\x01")),
    "24 a length of 2**31": record(b"\x1a\x80\x80\x80\x80\x08\x0a\x01\x01"),
    "24 a length with bits above the 32nd": record(b"\x1a\x83\x80\x80\x80\x10\x0a\x01\x01"),
    "25 a string past the end": record(field(1, b"\x0a\x05abc")),
    "25 a key past the end": field(1, field(1, b"\x0a\x05a")),
    "28 tag 0": b"\x00" + record(ONE),
    "28 a zero byte at the end": record(ONE) + b"\x00",
    "28 field number 0": record(ONE) + b"\x02\x00",
    "wire type 6": record(ONE) + b"\x26",
    "wire type 7": record(ONE) + b"\x27",
    "an end without its group": record(ONE) + b"\x24",
    "a varint of eleven bytes": record(int_feature(field(1, b"\xff" * 10 + b"\x01"))),
    "a varint that does not end": record(int_feature(field(1, b"\x80"))),
    "a tag of six bytes": b"\x8a\x80\x80\x80\x80\x00" + record(ONE)[1:],
    "a tag above 32 bits": b"\xff\xff\xff\xff\x7f" + record(ONE),
    "four bytes that are not there": record(field(2, b"\x0d\0\0")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_protobuf_rejects_raises(case: str):
    message = REFUSED[case]
    assert _core.read_example(message) is None
    for wanted in (Feature("int64", (None,)), Feature("float32", (None,)), Feature("bytes", (None,)), Feature("int64")):
        for features in (["a"], []):
            with pytest.raises(MalformedExampleError):
                Decoder(Schema({"a": wanted}), columns=features, validate="all").decode([message])


@pytest.mark.parametrize("cut", range(1, len(record(ONE) + record(field(2, field(1, bytes(8)))))))
def test_a_message_that_was_cut_raises_unless_the_cut_is_between_fields(cut: int):
    message = record(ONE) + record(field(2, field(1, bytes(8))))
    whole = cut == len(record(ONE))
    assert (_core.read_example(message[:cut]) is not None) == whole


def test_30_bytes_that_nobody_asked_for_are_checked_on_request():
    message = field(1, entry(b"\x1a\x05") + entry(ONE, b"b"))
    schema = Schema({"b": Feature("int64")})
    assert Decoder(schema).decode([message])["b"].tolist() == [1]
    with pytest.raises(MalformedExampleError, match="expected an Example, found malformed bytes"):
        Decoder(schema, validate="all").decode([message])


def test_31_keys_are_any_bytes():
    assert _core.read_example(field(1, entry(ONE, b"\xff\0"))) == ({b"\xff\0": ("int64", [1])}, {})


STEPS = [field(1, ONE), field(1, int_feature(ints(2))), field(1, b"")]
SEQUENCES = {
    "plain": field(2, entry(b"".join(STEPS), b"s")),
    "the value before the key": field(2, field(1, field(2, b"".join(STEPS)) + field(1, b"s"))),
    "the value in two pieces": field(2, field(1, field(1, b"s") + field(2, STEPS[0]) + field(2, STEPS[1] + STEPS[2]))),
    "unknown fields between the steps": field(2, entry(UNKNOWN.join([b"", *STEPS, b""]), b"s")),
    "the lists in two pieces": field(2, entry(b"", b"other")) + field(2, entry(b"".join(STEPS), b"s")),
    "a key again": field(2, entry(STEPS[0], b"s") + entry(b"".join(STEPS), b"s")),
}


@pytest.mark.parametrize("case", SEQUENCES)
def test_feature_lists_are_read_as_protobuf_reads_them(case: str):
    message = SEQUENCES[case]
    contents = _core.read_example(message, True)
    assert contents is not None
    assert contents[1][b"s"] == [("int64", [1]), ("int64", [2]), ("unset", [])]
    schema = Schema({}, sequence={"s": Feature("int64", (None,))})
    assert Decoder(schema).decode([message])["s"].to_list() == [[[1], [2], []]]
    assert _core.read_example(message) == ({}, {})
