"""Inference: what is concluded from records, on which evidence, and what is left open."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from schema_examples import example, example_list, field, sequence_example, varint

import penstock as ps
from penstock import Feature, Schema


def write(path: Path, payloads: Iterable[bytes]) -> Path:
    with ps.RecordWriter(path) as writer:
        for payload in payloads:
            writer.write(payload)
    return path


def infer(folder: Path, payloads: Iterable[bytes], records: int | None = None) -> ps.Inferred:
    return ps.infer_schema(write(folder / "data.tfrecord", payloads), records=records)


def jpeg(height: int, width: int, channels: int = 3) -> bytes:
    """The head of a JPEG: an APP0 segment, padding and a frame."""
    frame = struct.pack(">HBHHB", 8 + 3 * channels, 8, height, width, channels) + b"\1\x11\0" * channels
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 4) + b"JF" + b"\xff\xff\xc0" + frame + b"\xff\xd9"


def png(height: int, width: int, depth: int = 8, color: int = 2) -> bytes:
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


def tensor(*shape: int, content: bytes) -> bytes:
    dims = b"".join(field(2, b"\x08" + varint(size) if size else b"") for size in shape)
    return b"\x08\x01" + field(2, dims) + field(4, content)


def test_counts_distinguish_scalars_dense_and_ragged_features(tmp_path: Path) -> None:
    found = infer(tmp_path, [example(a=1, b=[0.5, 1.5], c=[1] * n, d=[]) for n in range(5)])
    assert found.schema == Schema(
        {
            "a": int,
            "b": Feature("float32", (2,)),
            "c": Feature("int64", (None,)),
            "d": Feature("int64", (None,)),
        }
    )
    assert (found.records, found.complete, found.is_sequence) == (5, True, False)
    assert (found.evidence["c"].min_count, found.evidence["c"].max_count) == (0, 4)
    assert found.evidence["a"].certainty == "certain"
    assert found.evidence["d"].certainty == "guess"


def test_what_some_records_lack_is_optional(tmp_path: Path) -> None:
    found = infer(tmp_path, [example(a=1, b=2), example(a=1), example(a=1, b=None)])
    assert found.schema == Schema({"a": int, "b": Feature(int, optional=True)})
    assert found.evidence["b"].present == 1


def test_feature_that_is_never_set_is_left_out(tmp_path: Path) -> None:
    found = infer(tmp_path, [example(a=1, b=None)])
    assert list(found.schema) == ["a"]
    assert found.evidence["b"].kind is None


def test_shards_that_differ_are_united(tmp_path: Path) -> None:
    write(tmp_path / "x-0.tfrecord", [example(a=1)])
    write(tmp_path / "x-1.tfrecord", [example(a=[1, 2], b="x")])
    found = ps.infer_schema(str(tmp_path / "x-*.tfrecord"))
    assert found.schema == Schema({"a": Feature(int, (None,)), "b": Feature(str, optional=True)})
    assert len(found.files) == 2


def test_contradicting_kinds_name_both_records(tmp_path: Path) -> None:
    write(tmp_path / "x-0.tfrecord", [example(a=1)])
    write(tmp_path / "x-1.tfrecord", [example(b=1), example(a="x")])
    with pytest.raises(ps.SchemaError, match=r"'a' is int64 in .*x-0.*record 0, but bytes in .*x-1.*record 1"):
        ps.infer_schema(tmp_path)


def test_sequences_are_recognized_by_their_lists(tmp_path: Path) -> None:
    payloads = [
        sequence_example({"id": "a"}, {"x": [[0.5, 1.5]] * 3, "t": [1, 2], "w": [["a"], ["b", "c"]]}),
        sequence_example({"id": "b"}, {"x": [], "w": [None]}),
    ]
    found = infer(tmp_path, payloads)
    assert found.schema == Schema(
        {"id": str},
        sequence={
            "x": Feature("float32", (2,)),
            "t": Feature("int64", optional=True),
            "w": Feature("str", (None,)),
        },
    )


def test_key_in_both_sections_gets_two_names(tmp_path: Path) -> None:
    found = infer(tmp_path, [sequence_example({"t": 1}, {"t": [1.5]})])
    assert found.schema == Schema({"t": int}, sequence={"sequence/t": Feature("float32", key="t")})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["ä", "", "b\n"], Feature("str")),
        ([b"\xff", b"x"], Feature("bytes")),
        ([b"a\0b", b"x"], Feature("bytes")),
        ([b"", b""], Feature("bytes")),
        ([jpeg(4, 5), jpeg(4, 5)], Feature("uint8", (4, 5, 3), encoding="jpeg")),
        ([jpeg(4, 5), jpeg(6, 5, 1)], Feature("uint8", (None, 5, None), encoding="jpeg")),
        ([png(4, 5)], Feature("uint8", (4, 5, 3), encoding="png")),
        ([png(4, 5, depth=16, color=0)], Feature("uint16", (4, 5, 1), encoding="png")),
        ([png(4, 5, color=3)], Feature("uint8", (4, 5, None), encoding="png")),
        ([jpeg(4, 5), png(6, 7)], Feature("uint8", (None, None, 3), encoding="image")),
        ([jpeg(4, 5), png(6, 7, depth=16)], Feature("bytes")),
        ([jpeg(4, 5), b""], Feature("bytes")),
        ([b"GIF89a" + bytes(10)], Feature("bytes")),
        ([tensor(2, content=bytes(8)), tensor(3, content=bytes(12))], Feature("float32", (None,), encoding="tensor")),
        ([tensor(2, content=bytes(8)), tensor(2, 1, content=bytes(8))], Feature("bytes")),
        ([tensor(2, content=bytes(9))], Feature("bytes")),
        ([b"\x89PNG\r\n\x1a\n"], Feature("bytes")),
        ([b"\xff\xd8\xff"], Feature("bytes")),
    ],
)
def test_bytes_are_recognized_only_where_all_values_agree(
    tmp_path: Path, values: list[bytes | str], expected: Feature
) -> None:
    assert infer(tmp_path, [example(x=value) for value in values]).schema["x"] == expected


def test_list_of_images_stays_bytes_with_a_suggestion(tmp_path: Path) -> None:
    found = infer(tmp_path, [example(x=[jpeg(1, 1), jpeg(1, 1)])])
    assert found.schema["x"] == Feature("bytes", (2,))
    assert found.evidence["x"].suggestion == "encoded images"


def test_fixed_size_is_suggested_and_not_assumed(tmp_path: Path) -> None:
    found = infer(tmp_path, [example(x=bytes([n]) * 784) for n in range(200, 210)])
    assert found.schema["x"] == Feature("bytes")
    assert found.evidence["x"].suggestion == (
        'always 784 bytes: perhaps encoding="raw", such as uint8 (784,) or float32 (196,)'
    )


def test_parts_of_a_nested_feature_are_pointed_out(tmp_path: Path) -> None:
    found = infer(tmp_path, [example(**{"w/ragged_flat_values": [1, 2], "w/ragged_row_lengths_0": [2, 0]})])
    suggestion = found.evidence["w/ragged_flat_values"].suggestion
    assert suggestion == "the values of the nested feature 'w', shape (None, None), as TFDS stores it"
    assert found.evidence["w/ragged_row_lengths_0"].suggestion is None


def test_evidence_says_how_sure_and_why(tmp_path: Path) -> None:
    evidence = infer(tmp_path, [example(x="hello", n=[1, 2, 3, 4, 5])] * 150).evidence
    assert evidence["x"].certainty == "likely"
    assert evidence["x"].reasons == (
        "bytes in all of 150 records",
        "values in each record: 1",
        "UTF-8 text: 150 of 150 values",
    )
    assert evidence["x"].sample == "'hello'"
    assert evidence["n"].sample == "1, 2, 3, 4, ..."


def test_binary_values_are_not_shown(tmp_path: Path) -> None:
    assert infer(tmp_path, [example(x=b"\xff\xfe\xfd")]).evidence["x"].sample == "3 bytes"


def test_sample_is_spread_over_the_files(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / f"x-{number}.tfrecord", [example(**{f"f{number}": 1})] * (1 if number == 0 else 100))
    found = ps.infer_schema(tmp_path, records=31)
    assert (found.records, found.complete) == (31, False)
    assert [evidence.present for evidence in found.evidence.values()] == [1, 10, 10, 10]
    few = ps.infer_schema(tmp_path, records=2)
    assert (few.records, len(few.files), few.complete) == (2, 2, False)


def test_sample_as_large_as_the_data_is_complete(tmp_path: Path) -> None:
    assert infer(tmp_path, [example(a=1)] * 3, records=3).complete
    assert not infer(tmp_path, [example(a=1)] * 4, records=3).complete
    assert infer(tmp_path, [example(a=1)] * 3, records=2).evidence["a"].certainty == "guess"


def test_record_that_is_no_example_is_named(tmp_path: Path) -> None:
    with pytest.raises(ps.MalformedExampleError, match=r"data\.tfrecord, record 1") as caught:
        infer(tmp_path, [example(a=1), b"hello"])
    assert caught.value.record == 1
    assert caught.value.path == str(tmp_path / "data.tfrecord")


EVENT = b"\x09" + struct.pack("<d", 1.5) + b"\x10\x07" + field(5, b"")
OTHERS = {
    "it seems to be ExampleListWithContext": example_list([example(a=1), example(a=2)], context=example(q="x")),
    "ExampleListWithContext .*ps.RecordReader": example_list([example(a=1, b=0.5)]),
    "ExampleListWithContext": example_list([], context=example(q="x")),
    "a message with an Example in field 3": field(3, example(a=1)),
    "a message with an Example in field 2": field(1, b"id") + field(2, example(a=1)) + field(4, b""),
    "an Event of TensorBoard": EVENT,
    "a serialized tensor": tensor(2, content=bytes(8)),
    "seems to be text": b"0a0b",
    "a message without features": field(1, field(1, field(1, b"key without a value"))),
    "message without features": field(1, field(1, field(1, b"key") + field(2, field(7, b"no list of values")))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_messages_are_not_taken_for_empty_examples(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        ps.MalformedExampleError, match=rf"not an Example: .*{name}.*data\.tfrecord, record 0"
    ) as caught:
        infer(tmp_path, [OTHERS[name]])
    assert caught.value.record == 0
    with pytest.raises(ps.MalformedExampleError, match=r"record 1"):
        infer(tmp_path, [example(a=1), OTHERS[name]])


@pytest.mark.parametrize("name", OTHERS)
def test_a_dataset_of_other_messages_has_no_empty_rows(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "data.tfrecord", [OTHERS[name]] * 3)
    for on_error in ("raise", "skip"):
        with pytest.raises(ps.MalformedExampleError, match="not an Example"):
            ps.Dataset(path, on_error=on_error)


def test_other_messages_can_be_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "data.tfrecord", [example(a=1), *OTHERS.values(), example(a=2)])
    found = ps.infer_schema(path, on_error="skip")
    assert (found.schema, found.records) == (Schema({"a": int}), 2)
    assert [error.record for error in found.skipped] == list(range(1, len(OTHERS) + 1))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        field(1, b""),
        field(1, b"") + field(2, b""),
        example(a=None),
        sequence_example({}, {"a": []}),
        example() + field(9, b"new") + example(a=None),
    ],
    ids=["nothing", "no features", "empty sequence", "unset", "no steps", "unknown field"],
)
def test_an_example_may_hold_nothing(tmp_path: Path, payload: bytes) -> None:
    found = infer(tmp_path, [payload])
    assert (found.records, found.skipped) == (1, ())
    assert infer(tmp_path, [payload, example(b=1)]).schema["b"] == Feature("int64", optional=True)


def test_empty_file_gives_an_empty_schema(tmp_path: Path) -> None:
    found = infer(tmp_path, [])
    assert (len(found.schema), found.records) == (0, 0)


def test_wrong_number_of_records_raises(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        infer(tmp_path, [], records=0)


def test_damage_and_other_payloads_can_be_skipped(tmp_path):
    path = tmp_path / "x.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many([example(a=1), b"not an Example", example(a=2), example(a=3)])
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    found = ps.infer_schema(path, on_error="skip")
    assert (found.records, dict(found.schema)) == (2, {"a": ps.Feature("int64")})
    assert [getattr(error, "record", None) for error in found.skipped] == [1, 3]
    with pytest.raises(ps.MalformedExampleError):
        ps.infer_schema(path)


def test_where_nothing_can_be_read_the_reason_is_raised(tmp_path):
    path = tmp_path / "x.tfrecord"
    path.write_text("<!DOCTYPE html>")
    with pytest.raises(ps.CorruptDataError, match="HTML"):
        ps.infer_schema(path, on_error="skip")
