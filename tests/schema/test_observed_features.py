"""The reader of unknown Examples: protobuf's rules on the wire, and no trust in any length."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_examples import example, feature, field, sequence_example, varint

from penstock import MalformedExampleError
from penstock.schema.observed_features import FoundFeature, Values, read_features


def read(payload: bytes) -> dict[str, tuple[Values, ...]]:
    return {found.key: found.steps for found in read_features(payload)}


def entry(key: str, value: bytes) -> bytes:
    """An Example with one entry whose value is given as bytes."""
    return field(1, field(1, field(1, key.encode()) + field(2, value)))


def test_kinds_counts_and_values_are_read() -> None:
    payload = example(a=[1, -1, 300, 4, 5], b=[0.5], c=["x", b""], d=[], e=None)
    assert read(payload) == {
        "a": (Values("int64", 5, (1, -1, 300, 4)),),
        "b": (Values("float", 1, (0.5,)),),
        "c": (Values("bytes", 2, (b"x", b"")),),
        "d": (Values("int64", 0, ()),),
        "e": (Values(None, 0, ()),),
    }


def test_sequence_has_a_list_for_each_step() -> None:
    found = read_features(sequence_example({"id": 7}, {"t": [[1, 2], [], None], "none": []}))
    steps = (Values("int64", 2, (1, 2)), Values("int64", 0, ()), Values(None, 0, ()))
    assert found == [
        FoundFeature("context", "id", (Values("int64", 1, (7,)),)),
        FoundFeature("sequence", "t", steps),
        FoundFeature("sequence", "none", ()),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (field(3, b"\x08\x01\x08\x02"), Values("int64", 2, (1, 2))),
        (field(3, field(1, b"\x01") + b"\x08\x02" + field(1, b"\x03")), Values("int64", 3, (1, 2, 3))),
        (field(2, b"\x0d" + struct.pack("<f", 0.5)), Values("float", 1, (0.5,))),
        (field(3, field(1, b"\x01")) + field(3, field(1, b"\x02")), Values("int64", 2, (1, 2))),
        (field(3, field(1, b"\x01")) + field(1, field(1, b"x")), Values("bytes", 1, (b"x",))),
        (field(9, b"?") + field(3, field(1, b"\x01")), Values("int64", 1, (1,))),
        (field(3, field(1, b"\xff" * 9 + b"\x7f")), Values("int64", 1, (-1,))),
    ],
    ids=["unpacked", "mixed runs", "unpacked float", "merged", "last kind wins", "unknown field", "ten bytes"],
)
def test_odd_but_valid_lists_read_as_protobuf_reads_them(value: bytes, expected: Values) -> None:
    assert read(entry("k", value)) == {"k": (expected,)}


def test_last_of_equal_keys_wins() -> None:
    assert read(example(a=1) + example(a="x")) == {"a": (Values("bytes", 1, (b"x",)),)}


def test_key_that_is_no_text_is_preserved() -> None:
    payload = field(1, field(1, field(1, b"\xff") + field(2, feature(1))))
    assert list(read(payload)) == ["\udcff"]


@pytest.mark.parametrize(
    "payload",
    [
        b"\x00",
        b"\x0a",
        b"\x0a\x05\x00",
        b"\x0a" + b"\xff" * 9 + b"\x01",
        b"\x80" * 11,
        b"\x0b\x0c",
        b"\x0e",
        b"\x09\x00",
        entry("k", field(2, field(1, b"\0\0\0"))),
        entry("k", field(3, field(1, b"\x80"))),
        entry("k", field(3, field(1, b"\x80" * 11 + b"\x01"))),
        entry("k", b"\x0a\x7f"),
    ],
    ids=repr,
)
def test_malformed_payload_raises(payload: bytes) -> None:
    with pytest.raises(MalformedExampleError):
        read(payload)


def test_every_cut_of_a_record_raises_or_is_a_prefix() -> None:
    payload = sequence_example({"a": [1, 2], "b": "xyz"}, {"t": [[0.5], [1.5]]})
    whole = read(payload)
    for length in range(len(payload)):
        try:
            part = read(payload[:length])
        except MalformedExampleError:
            continue
        assert part.items() <= whole.items()


def read_or_refuse(payload: bytes) -> None:
    try:
        read(payload)
    except MalformedExampleError:
        pass


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_raise(payload: bytes) -> None:
    read_or_refuse(payload)


@given(st.integers(0, 60), st.integers(0, 255))
def test_any_changed_byte_is_read_or_raises(place: int, byte: int) -> None:
    payload = bytearray(sequence_example({"a": [1, -1], "b": "xyz", "c": 0.5}, {"t": [[0.5], [1.5]]}))
    payload[place % len(payload)] = byte
    read_or_refuse(bytes(payload))


def test_varint_helper_agrees_with_the_reader() -> None:
    assert read(example(a=[-(1 << 63), (1 << 63) - 1]))["a"][0].values == (-(1 << 63), (1 << 63) - 1)
    assert varint(300) == b"\xac\x02"


def test_long_lists_of_numbers_are_counted_not_stored() -> None:
    count = 200_000
    payload = example(v=[0.5] * count, n=[300] * count)
    tracemalloc.start()
    try:
        found = read(payload)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == {"v": (Values("float", count, (0.5,) * 4),), "n": (Values("int64", count, (300,) * 4),)}
    assert peak < count / 2
