"""TensorProto, compared with ``tf.io.serialize_tensor`` and ``tf.io.parse_tensor``."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from oracle import Oracle

import penstock as ps
from penstock.codec.tensor_proto import parse_tensor, serialize_tensor

NUMBERS = [
    np.dtype(name)
    for name in (
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", ml_dtypes.bfloat16, "complex64", "complex128"),
    )
]
shapes = npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Arrays of every dtype and every pattern of bits."""
    dtype = draw(st.sampled_from([*NUMBERS, np.dtype(bool), np.dtype(object)]))
    if dtype.kind == "b":
        return draw(npst.arrays(bool, shapes))
    if dtype.kind == "O":
        return draw(npst.arrays(object, shapes, elements=st.binary(max_size=5)))
    bits = draw(npst.arrays(np.uint8, shapes.map(lambda shape: (*shape, dtype.itemsize))))
    return np.asarray(bits.view(dtype)[..., 0])


def name_of(array: np.ndarray) -> str:
    return "string" if array.dtype == object else array.dtype.name


@given(st.lists(arrays(), min_size=1, max_size=20))
def test_bytes_are_the_same_both_ways(oracle: Oracle, tensors: list[np.ndarray]) -> None:
    messages = [serialize_tensor(array) for array in tensors]
    assert messages == oracle.serialize_tensors(*tensors)
    parsed = oracle.parse_tensors(
        *((message, name_of(array)) for message, array in zip(messages, tensors, strict=True))
    )
    for theirs, array in zip(parsed, tensors, strict=True):
        assert same(np.asarray(theirs, array.dtype), array)


def same(left: np.ndarray, right: np.ndarray) -> bool:
    if left.dtype == object:
        return left.shape == right.shape and left.tolist() == right.tolist()
    return left.shape == right.shape and left.dtype == right.dtype and left.tobytes() == right.tobytes()


def field(number: int, wire: int, value: bytes) -> bytes:
    return varint(number << 3 | wire) + (varint(len(value)) if wire == 2 else b"") + value


def varint(number: int) -> bytes:
    return bytes([number & 0x7F | 0x80]) + varint(number >> 7) if number > 0x7F else bytes([number])


varints = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1)).map(varint)
dimensions = st.one_of(st.integers(0, 4), st.sampled_from([2**31, 2**40, 2**63 - 1, 2**63, 2**64 - 1]))
few = {"max_size": 4}


@st.composite
def messages(draw: st.DrawFn) -> tuple[bytes, str]:
    """Messages that fit more or less: lists too short and too long, packed or not, of this and of other dtypes."""
    dtype = draw(st.sampled_from([*NUMBERS, np.dtype(bool), np.dtype(object)]))
    name = "string" if dtype.kind == "O" else dtype.name
    number = serialize_tensor(b"" if dtype.kind == "O" else np.zeros((), dtype))[1]
    sizes = draw(st.lists(dimensions, max_size=3))
    shape = b"".join(field(2, 2, field(1, 0, varint(size))) for size in sizes)
    fields = [field(2, 2, shape)]
    for _ in range(draw(st.integers(0, 3))):
        listed = draw(st.sampled_from([4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17]))
        if listed in (4, 8):
            fields += [field(listed, 2, value) for value in draw(st.lists(st.binary(**few), **few))]
        elif listed in (5, 6, 9, 12):
            size, wire = (4, 5) if listed in (5, 9) else (8, 1)
            values = draw(st.lists(st.binary(min_size=size, max_size=size), **few))
            packed = draw(st.booleans())
            fields += [field(listed, 2, b"".join(values))] if packed else [field(listed, wire, v) for v in values]
        else:
            values = draw(st.lists(varints, **few))
            packed = draw(st.booleans())
            fields += [field(listed, 2, b"".join(values))] if packed else [field(listed, 0, v) for v in values]
    return field(1, 0, varint(number)) + b"".join(draw(st.permutations(fields))), name


@given(st.lists(messages(), min_size=1, max_size=40))
def test_messages_are_read_and_rejected_alike(oracle: Oracle, cases: list[tuple[bytes, str]]) -> None:
    cases = [case for case in cases if not declares_much(case[0])]
    for (data, name), theirs in zip(cases, oracle.parse_tensors(*cases), strict=True):
        try:
            ours = parse_tensor(data, "bytes" if name == "string" else name)
        except ps.MalformedExampleError:
            assert theirs is None, data.hex()
            continue
        assert theirs is not None, data.hex()
        assert same(np.asarray(theirs, ours.dtype), ours), data.hex()


def declares_much(data: bytes) -> bool:
    """Whether the limit of memory, which TensorFlow does not have, decides."""
    try:
        parse_tensor(data, max_bytes=1 << 20)
    except ps.MalformedExampleError as error:
        return "lists only" in str(error)
    return False


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("0801 1200 a306 a406", id="a group"),
        pytest.param("080b 1200 220101", id="a quantized dtype"),
    ],
)
def test_what_only_tensorflow_reads(oracle: Oracle, message: str) -> None:
    data = bytes.fromhex(message)
    dtype = {1: "float32", 11: "qint8"}[data[1]]
    assert oracle.parse_tensors((data, dtype)) != [None]
    with pytest.raises(ps.MalformedExampleError):
        parse_tensor(data)
