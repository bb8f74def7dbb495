"""TensorProto: what is written, what is read, and what hostile bytes cannot do."""

from __future__ import annotations

import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import penstock as ps
from penstock.codec.tensor_proto import parse_tensor, serialize_tensor

NUMBERS = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "bfloat16", "complex64", "complex128",
]  # fmt: skip


def dtype_of(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def tensor(hexadecimal: str) -> np.ndarray:
    return parse_tensor(bytes.fromhex(hexadecimal))


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.float32(1.5), "0801 1200 2204 0000c03f"),
        (np.ones((2, 2), np.int32), "0803 1208 1202 0802 1202 0802 2210" + "01000000" * 4),
        (np.ones((2, 2), ">i4"), "0803 1208 1202 0802 1202 0802 2210" + "01000000" * 4),
        (np.array([b"a", b"bc"]), "0807 1204 1202 0802 4201 61 4202 6263"),
        (["a", "bc"], "0807 1204 1202 0802 4201 61 4202 6263"),
        (np.zeros(0, np.float32), "0801 1202 1200"),
        (np.zeros((300, 0), np.float32), "0801 1207 1203 08ac02 1200"),
        (np.array([1.5], ml_dtypes.bfloat16), "080e 1204 1202 0801 2202 c03f"),
    ],
)
def test_bytes_are_those_of_tensorflow(array: object, expected: str):
    assert serialize_tensor(array) == bytes.fromhex(expected)


@pytest.mark.parametrize("name", NUMBERS)
@settings(max_examples=25)
@given(data=st.data())
def test_numbers_come_back_bit_for_bit(name: str, data: st.DataObject):
    dtype = dtype_of(name)
    shape = data.draw(npst.array_shapes(min_dims=0, min_side=0, max_side=4))
    if name == "bool":
        array = data.draw(npst.arrays(bool, shape))
    else:  # every pattern of bits, NaN of all kinds among them
        array = data.draw(npst.arrays(np.uint8, (*shape, dtype.itemsize))).view(dtype)[..., 0]
    for order in (array, np.array(array, order="F")):
        found = parse_tensor(serialize_tensor(order), name)
        assert found.dtype == dtype
        assert found.shape == array.shape
        assert found.tobytes() == array.tobytes()
        assert found.flags.writeable


@given(npst.arrays(object, npst.array_shapes(min_dims=0, min_side=0), elements=st.binary(max_size=5)))
def test_strings_come_back(array: np.ndarray):
    for dtype in (None, "bytes", "str"):
        found = parse_tensor(serialize_tensor(array), dtype)
        assert found.shape == array.shape
        assert found.tolist() == array.tolist()


@pytest.mark.parametrize("array", [np.zeros(1, "datetime64[s]"), np.array([1, b"a"], object), np.zeros(1, "V3")])
def test_what_a_tensor_proto_cannot_hold_raises(array: np.ndarray):
    with pytest.raises(TypeError, match="TensorProto"):
        serialize_tensor(array)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("0801 1204 12020803 2d0000803f 2d00000040", [1, 2, 2], id="a short list repeats its last value"),
        pytest.param("0801 1204 12020802", [0, 0], id="no list is zeros"),
        pytest.param("0807 1204 12020802", [b"", b""], id="no strings are empty ones"),
        pytest.param("0807 1204 12020802 420161", [b"a", b"a"], id="a short list of strings repeats its last"),
        pytest.param("0803 1204 12020801 3803 3804", [3], id="of a long list the rest is skipped"),
        pytest.param("0803 1204 12020803 3a020102 3803", [1, 2, 3], id="packed and unpacked values are joined"),
        pytest.param("0801 1200 2d00000040 22040000803f", 1, id="content wins over lists"),
        pytest.param("0801 1202 1200 22040000803f", [], id="an empty tensor has no use for content"),
        pytest.param("0806 1200 38ac02", 44, id="a narrow integer keeps the low bits"),
        pytest.param("0803 1200 38ffffffffffffffffff01", -1, id="a negative integer"),
        pytest.param("0816 1200 8001ffffffff0f", 2**32 - 1, id="a uint32"),
        pytest.param("0817 1200 8801ffffffffffffffffff01", 2**64 - 1, id="a uint64"),
        pytest.param("0813 1200 688078", 1.0, id="a half is its bits"),
        pytest.param("080e 1200 68c07f", 1.5, id="a bfloat16 is its bits"),
        pytest.param("080a 1200 5802", True, id="a bool is whatever is not 0"),
        pytest.param("0808 1204 12020802 4a0c 0000803f 00000040 00004040", [1 + 2j] * 2, id="half a complex number"),
        pytest.param("0807 1204 12020802 2205 0102 61 6263", [b"a", b"bc"], id="strings as lengths and bytes"),
        pytest.param("0801 1204 12020801 1204 12020802", [[0, 0]], id="shapes are merged"),
        pytest.param("0801 1202 1801 22040000803f", 1, id="an unknown rank is skipped"),
        pytest.param("0801 1200 2801 2d0000803f", 1, id="a field of another wire type is skipped"),
        pytest.param("0801 1800 1200 f20f03616263 2d0000803f", 1, id="unknown fields are skipped"),
    ],
)
def test_rules_of_parsing(message: str, expected: object):
    assert tensor(message).tolist() == expected


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("", "dtype number 0"),
        ("080b 1200 220101", "dtype number 11"),
        ("0803 1200 22020102", "2 bytes are not a multiple"),
        ("0803 1204 12020802 220401020304", r"shape \(2,\) has content for 1"),
        ("080a 1200 220102", "neither 0 nor 1"),
        ("0801 120d 120b 08ffffffffffffffffff01", "negative"),
        ("0801 1212 1207 08808080808020 1207 08808080808020", "more elements"),
        ("0801 1214 1207 08808080808020 1207 08808080808020 1200", "more elements"),
        ("0801 1242" + "12 00" * 33, "33 dimensions"),
        ("0801 1208 1206 088080808040", "more than 67108864 bytes"),
        ("0801 1200 2a03000000", "3 bytes are not a multiple"),
        ("0803 1200 3a0180", "no end"),
        ("0809 1200 520bffffffffffffffffffff01", "no end"),
        ("0807 1204 12020802 2204 0102 61 62", "do not add up"),
        ("0807 1204 12020803 2202 0000", "only 2 lengths"),
        ("0801 1200 2205 0000", "5 bytes where 2 are left"),
        ("0801 1200 a306 a406", "wire type 3"),
    ],
)
def test_what_is_no_tensor_raises(message: str, reason: str):
    with pytest.raises(ps.MalformedExampleError, match=reason):
        tensor(message)


def test_another_dtype_raises():
    with pytest.raises(ps.MalformedExampleError, match="expected a tensor of float32, found int32"):
        parse_tensor(serialize_tensor(np.int32(1)), "float32")


def test_the_limit_is_on_what_is_not_spelled_out():
    data = serialize_tensor(np.ones(100, np.float32))
    assert parse_tensor(data, max_bytes=0).tolist() == [1] * 100
    with pytest.raises(ps.MalformedExampleError, match="100 elements lists only 0"):
        parse_tensor(bytes.fromhex("0801 1204 12020864"), max_bytes=399)


@given(st.one_of(st.binary(), st.data()))
def test_hostile_bytes_give_an_array_or_one_kind_of_error(data: bytes | st.DataObject):
    if not isinstance(data, bytes):  # a message with one byte changed goes deeper than noise
        whole = bytearray(bytes.fromhex("0801 1208 12020802 12020803 2a04 00000040 2d0000803f 3a03018002 420161 4a00"))
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
        data = bytes(whole)
    try:
        parse_tensor(data, max_bytes=1 << 16)
    except ps.MalformedExampleError:
        pass


@pytest.mark.parametrize("item", ["3801", "2d00000000", "4200", "3a03010203", "12021200"])
def test_memory_stays_a_small_multiple_of_the_message(item: str):
    data = bytes.fromhex("0803") + bytes.fromhex(item) * 20_000
    tracemalloc.start()
    try:
        parse_tensor(data)
    except ps.MalformedExampleError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 40 * len(data)
