"""What connectors of TFDS store, decoded; interop/tfds compares the values with those of TFDS."""

import json
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.codec.images import encode_image
from penstock.errors import MalformedExampleError


def schema_of(feature: Any) -> ps.Schema:
    return ps.Schema.from_tfds(json.dumps({"featuresDict": {"features": {"x": feature}}}))


def tensor(shape: tuple[int, ...], dtype: str, encoding: str) -> dict[str, Any]:
    return {"tensor": {"shape": {"dimensions": list(shape)}, "dtype": dtype, "encoding": encoding}}


def sequence(feature: Any, length: int = -1) -> dict[str, Any]:
    return {"sequence": {"feature": feature, "length": length}}


def stored(columns: dict[str, Any], **features: ps.Feature) -> list[bytes]:
    names = {name.replace("__", "/"): feature for name, feature in features.items()}
    return list(ps.Encoder(ps.Schema(names)).encode(columns))


def decode(feature: Any, records: list[bytes]) -> Any:
    return ps.Decoder(schema_of(feature)).decode(records)["x"]


def test_deflated_tensors():
    arrays = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    records = stored({"x": [zlib.compress(array.tobytes()) for array in arrays]}, x=ps.Feature("bytes"))
    assert np.array_equal(decode(tensor((2, 3), "float32", "zlib"), records), arrays)
    one_unknown = decode(tensor((2, -1), "float32", "zlib"), records)
    assert [row.tolist() for row in one_unknown] == arrays.tolist()


def test_tensors_with_their_own_shape():
    columns = {"x/value": [b"abcdef", b""], "x/shape": np.array([[2, 3], [0, 5]], np.int32)}
    records = stored(columns, x__value=ps.Feature("bytes"), x__shape=ps.Feature("int32", (2,)))
    first, second = decode(tensor((-1, -1), "uint8", "bytes"), records)
    assert first.tolist() == [list(b"abc"), list(b"def")]
    assert second.shape == (0, 5)


@given(st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=4))
def test_sequences_of_sequences_of_raw_tensors(lengths: list[list[int]]):
    rows = [[[bytes([r, i, j]) for j in range(n)] for i, n in enumerate(row)] for r, row in enumerate(lengths)]
    records = stored({"x": rows}, x=ps.Feature("bytes", (None, None)))
    column = decode(sequence(sequence(tensor((3,), "uint8", "bytes"))), records)
    assert column.to_list() == [[[list(value) for value in inner] for inner in row] for row in rows]


def test_fixed_lengths_inside_a_sequence():
    rows = [[[b"\1\2", b"\3\4"]], []]
    feature = ps.Feature("bytes", (None, 2), key="x/ragged_flat_values")
    column = decode(sequence(sequence(tensor((1,), "uint16", "bytes"), 2)), stored({"x": rows}, x=feature))
    assert column.to_list() == [[[[0x201], [0x403]]], []]


def test_images_in_sequences():
    small, large = (encode_image(np.full((size, size, 3), size, np.uint8), "png") for size in (1, 2))
    records = stored({"x": [[small, small], [small, large], []]}, x=ps.Feature("bytes", (None,)))
    same, different, none = decode(sequence({"image": {}}), records)
    assert same.shape == (2, 1, 1, 3)
    assert [image.shape for image in different] == [(1, 1, 3), (2, 2, 3)]
    assert len(none) == 0
    video = {"video": {"shape": {"dimensions": [-1, 1, 1, 3]}}}
    assert decode(video, stored({"x": [[small], [small, small]]}, x=ps.Feature("bytes", (None,)))).to_list() == [
        [[[[1, 1, 1]]]],
        [[[[1, 1, 1]]]] * 2,
    ]


def test_float_images_are_the_bytes_of_their_channels():
    values = np.array([[[1.5], [-2.25]]], np.float32)
    record = stored({"x": [encode_image(values.view(np.uint8), "png")]}, x=ps.Feature("bytes"))
    for shape in ((1, 2, 1), (-1, -1, 1)):
        assert (
            decode({"image": {"dtype": "float32", "shape": {"dimensions": shape}}}, record)[0].tolist()
            == values.tolist()
        )


def test_uint64_is_stored_as_int64():
    records = stored({"x": [[-1, 5]]}, x=ps.Feature("int64", (2,)))
    assert decode(tensor((2,), "uint64", "none"), records).tolist() == [[2**64 - 1, 5]]
    assert decode(sequence(tensor((), "uint64", "none")), records).to_list() == [[2**64 - 1, 5]]


def test_absent_values_are_none():
    records = stored({"x": [None, b"\1\0"]}, x=ps.Feature("bytes", optional=True))
    feature = tensor((2,), "uint8", "zlib") | {}
    feature["tensor"] |= {"optional": True, "encoding": "bytes", "shape": {"dimensions": [-1, -1]}}
    both = {"x/value": [None, b"\1\0"], "x/shape": [None, [1, 2]]}
    records = stored(
        both, x__value=ps.Feature("bytes", optional=True), x__shape=ps.Feature("int32", (2,), optional=True)
    )
    absent, present = decode(feature, records)
    assert absent is None
    assert present.tolist() == [[1, 0]]


BOMB = zlib.compress(bytes(1 << 20))


@pytest.mark.parametrize(
    ("shape", "encoding", "value", "own_shape", "message"),
    [
        ((4,), "zlib", BOMB, None, "more than 4 bytes"),
        ((4,), "zlib", b"abcd", None, "damaged"),
        ((1 << 30,), "bytes", b"abcd", None, "expected 1073741824 raw bytes"),
        ((1 << 31,), "zlib", BOMB, None, "expected 2147483648 bytes"),
        ((4,), "zlib", zlib.compress(b"abc"), None, "expected 4 bytes, found 3"),
        ((4,), "zlib", zlib.compress(b"abcd")[:-1], None, "does not end"),
        ((4,), "zlib", zlib.compress(b"abcd") + b"e", None, "does not end"),
        ((3, -1), "bytes", b"abcd", None, "multiple of 3"),
        ((0, -1), "bytes", b"abcd", None, "multiple of 0"),
        ((-1, -1), "zlib", BOMB, [2, 2], "more than 4 bytes"),
        ((-1, -1), "bytes", b"abcd", [-2, -2], "expected shape"),
        ((-1, -1), "bytes", b"abcd", [2**31 - 1, 2**31 - 1], "expected 4611686014132420609 bytes"),
        ((-1, -1, 3), "bytes", b"abcd", [2, 2, 1], "expected shape"),
    ],
)
def test_hostile_values_raise(shape: tuple[int, ...], encoding: str, value: bytes, own_shape: Any, message: str):
    if own_shape is None:
        records = stored({"x": [value]}, x=ps.Feature("bytes"))
    else:
        names = {"x__value": ps.Feature("bytes"), "x__shape": ps.Feature("int32", (len(own_shape),))}
        records = stored({"x/value": [value], "x/shape": [own_shape]}, **names)
    with pytest.raises(MalformedExampleError, match=message) as caught:
        decode(tensor(shape, "uint8", encoding), records)
    assert (caught.value.record, caught.value.feature) == (0, "x")


def test_the_row_of_a_damaged_item_is_named():
    rows = [[zlib.compress(b"a")] * 3, [], [zlib.compress(b"a"), b"?"]]
    with pytest.raises(MalformedExampleError) as caught:
        decode(sequence(tensor((1,), "uint8", "zlib")), stored({"x": rows}, x=ps.Feature("bytes", (None,))))
    assert caught.value.record == 2


def test_a_feature_under_another_key_is_read_from_there():
    schema = schema_of(tensor((1,), "uint8", "zlib"))
    renamed = ps.Schema({"y": schema["x"].replace(key="x")})
    records = stored({"x": [zlib.compress(b"\7")]}, x=ps.Feature("bytes"))
    assert ps.Decoder(renamed).decode(records)["y"].tolist() == [[7]]
    with pytest.raises(ps.SchemaError, match="cannot be changed"):
        schema["x"].replace(dtype="int8")
