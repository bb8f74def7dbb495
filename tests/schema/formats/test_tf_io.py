"""Feature descriptions of tf.io, with lookalikes of its classes."""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from penstock import Feature, Schema, SchemaError

FixedLenFeature = namedtuple("FixedLenFeature", "shape dtype default_value", defaults=[None])
VarLenFeature = namedtuple("VarLenFeature", "dtype")
FixedLenSequenceFeature = namedtuple(
    "FixedLenSequenceFeature", "shape dtype allow_missing default_value", defaults=[False, None]
)
SparseFeature = namedtuple("SparseFeature", "index_key value_key dtype size")
RowLengths = namedtuple("RowLengths", "key")
RowSplits = namedtuple("RowSplits", "key")
UniformRowLength = namedtuple("UniformRowLength", "length")


class RaggedFeature(namedtuple("RaggedFeature", "dtype value_key partitions", defaults=[None, ()])):
    RowLengths = RowLengths
    UniformRowLength = UniformRowLength


STRING, INT64, FLOAT32 = (SimpleNamespace(name=name) for name in ("string", "int64", "float32"))
TF = SimpleNamespace(
    string=STRING,
    int64=INT64,
    float32=FLOAT32,
    io=SimpleNamespace(
        FixedLenFeature=FixedLenFeature,
        VarLenFeature=VarLenFeature,
        FixedLenSequenceFeature=FixedLenSequenceFeature,
        RaggedFeature=RaggedFeature,
    ),
)


def described(schema: Schema) -> dict[str, Any]:
    """Run the source text with the lookalikes in TensorFlow's place."""
    names: dict[str, Any] = {"tf": TF}
    exec(schema.to_tf_source().replace("import tensorflow as tf\n", ""), names)
    return names


@pytest.mark.parametrize(
    ("feature", "expected"),
    [
        (Feature(int), FixedLenFeature([], INT64)),
        (Feature("uint8", (2, 3)), FixedLenFeature([2, 3], INT64)),
        (Feature("float16", (2,), default=[0, 0.5]), FixedLenFeature([2], FLOAT32, [0.0, 0.5])),
        (Feature("float32", default=float("-inf")), FixedLenFeature([], FLOAT32, float("-inf"))),
        (Feature("bool", default=True), FixedLenFeature([], INT64, 1)),
        (Feature("str", default="x"), FixedLenFeature([], STRING, "x")),
        (Feature("uint8", (28, 28), encoding="raw"), FixedLenFeature([], STRING)),
        (Feature("uint8", (None, None, 3), encoding="jpeg"), FixedLenFeature([], STRING)),
        (Feature("uint8", (None, 3), encoding="raw", optional=True), RaggedFeature(STRING)),
        (Feature("str", (None,)), RaggedFeature(STRING)),
        (Feature("int64", (None,), key="k"), RaggedFeature(INT64, "k")),
        (Feature("int64", (None, 3)), RaggedFeature(INT64, None, [UniformRowLength(3)])),
        (Feature("int64", optional=True), RaggedFeature(INT64)),
        (Feature("int64", (2, 3), optional=True), RaggedFeature(INT64, None, [UniformRowLength(3)])),
        (
            Feature("int64", (None, None, 4)),
            RaggedFeature(INT64, "x/ragged_flat_values", [RowLengths("x/ragged_row_lengths_0"), UniformRowLength(4)]),
        ),
    ],
)
def test_source_text_makes_the_description(feature: Feature, expected: Any) -> None:
    assert described(Schema({"x": feature}))["features"] == {"x": expected}


def test_fixed_features_are_named_by_their_key() -> None:
    assert described(Schema({"x": Feature(int, key="k")}))["features"] == {"k": FixedLenFeature([], INT64)}


def test_sequence_gives_two_descriptions() -> None:
    schema = Schema(
        {"id": str},
        sequence={"rgb": Feature("float32", (4,)), "t": Feature(int, optional=True), "w": Feature(str, (None,))},
    )
    names = described(schema)
    assert names["context_features"] == {"id": FixedLenFeature([], STRING)}
    assert names["sequence_features"] == {
        "rgb": FixedLenSequenceFeature([4], FLOAT32),
        "t": FixedLenSequenceFeature([], INT64, allow_missing=True),
        "w": VarLenFeature(STRING),
    }


def test_source_text_says_what_the_kind_does_not() -> None:
    text = Schema({"x": Feature("uint8", (2, 2), encoding="raw"), "y": int}).to_tf_source()
    assert "'x': tf.io.FixedLenFeature([], tf.string),  # uint8, encoding raw, shape (2, 2)" in text
    assert "'y': tf.io.FixedLenFeature([], tf.int64),\n" in text


@pytest.mark.parametrize(
    "schema",
    [
        Schema({"x": Feature("uint8", (2,), encoding="raw", default=[1, 2])}),
        Schema({"x": Feature("int64", (0,), default=[])}),
        Schema({"x": Feature("int64", (2, 0), optional=True)}),
        Schema({"x": Feature("int64", (None,), key="k"), "y": Feature("int64", key="x")}),
        Schema({}, sequence={"x": Feature("int64", (None, 2))}),
    ],
)
def test_what_tf_cannot_say_raises(schema: Schema) -> None:
    with pytest.raises(SchemaError, match="'x'"):
        schema.to_tf_source()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (FixedLenFeature([], STRING), Feature("bytes")),
        (FixedLenFeature(3, np.float32), Feature("float32", (3,))),
        (FixedLenFeature((1, 2), np.dtype("int64"), [5, 6]), Feature("int64", (1, 2), default=[[5, 6]])),
        (FixedLenFeature([1], STRING, "ä"), Feature("bytes", (1,), default=["ä".encode()])),
        (FixedLenFeature([], STRING, b"x\0"), Feature("bytes", default=b"x\0")),
        (FixedLenFeature([0], INT64, []), Feature("int64", (0,))),
        (VarLenFeature(INT64), Feature("int64", (None,))),
        (FixedLenSequenceFeature([2], INT64, True), Feature("int64", (None, 2))),
        (RaggedFeature(FLOAT32, "v"), Feature("float32", (None,), key="v")),
        (
            RaggedFeature(INT64, "v", [RowLengths("n"), UniformRowLength(2)]),
            Feature("int64", (None, None, 2), key="v", partitions=["n"]),
        ),
    ],
)
def test_description_is_read(spec: Any, expected: Feature) -> None:
    assert Schema.from_tf({"x": spec}) == Schema({"x": expected})


def test_sequence_description_is_read() -> None:
    schema = Schema.from_tf(
        {"id": FixedLenFeature([], INT64)},
        {"a": FixedLenSequenceFeature([2], FLOAT32), "b": VarLenFeature(STRING), "c": RaggedFeature(INT64, "k")},
    )
    assert schema == Schema(
        {"id": int},
        sequence={
            "a": Feature("float32", (2,)),
            "b": Feature("bytes", (None,), optional=True),
            "c": Feature("int64", (None,), optional=True, key="k"),
        },
    )


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (SparseFeature("i", "v", INT64, 3), "index and value"),
        (RaggedFeature(INT64, "v", [RowSplits("s")]), "RowLengths"),
        (RaggedFeature(INT64, "v", [UniformRowLength(2), RowLengths("n")]), "None"),
        (FixedLenSequenceFeature([2], INT64), "allow_missing=True"),
        (FixedLenSequenceFeature([2], INT64, True, 7), "to_padded"),
        (FixedLenFeature(None, INT64), "shape is missing"),
        (FixedLenFeature([None], INT64), "known"),
        (FixedLenFeature([2], INT64, 1), "1 values"),
        (FixedLenFeature([], np.int32), "int32"),
        ("int64", "str"),
    ],
)
def test_what_has_no_counterpart_raises_with_a_reason(spec: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=f"'x'.*{reason}"):
        Schema.from_tf({"x": spec})


def test_fixed_length_feature_is_no_sequence() -> None:
    with pytest.raises(SchemaError, match="FixedLenFeature"):
        Schema.from_tf({}, {"x": FixedLenFeature([], INT64)})
