"""Ragged features, nested ones, and the feature lists of SequenceExamples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from schema_examples import example, field, sequence_example

from penstock import Decoder, Feature, MalformedExampleError, Nullable, Ragged, Schema


def decode(schema: Schema, *records: bytes, threads: int = 1) -> Any:
    return Decoder(schema, threads=threads).decode(list(records))


def refuse(schema: Schema, *records: bytes) -> MalformedExampleError:
    with pytest.raises(MalformedExampleError) as caught:
        decode(schema, *records)
    return caught.value


VALUES = {
    "int64": [[1, 2, 3], [], [-(2**63)], list(range(1000))],
    "uint8": [[1, 2, 3], [], [255], list(range(256))],
    "bool": [[True, False], [], [True], [False] * 300],
    "float32": [[1.5], [], [2.0, float("inf")], [0.25] * 500],
    "float64": [[1.5], [], [2.0, float("inf")], [0.25] * 500],
    "float16": [[1.5], [], [2.0, float("inf")], [0.25] * 500],
    "bytes": [[b"", b"a"], [], [b"twelve bytes", b"thirteen byte"], [b"x" * 40] * 100],
    "str": [["", "ä"], [], ["twelve bytes", "thirteen byte"], ["grün" * 10] * 100],
}


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_have_any_length(dtype: str, threads: int):
    rows = VALUES[dtype]
    kind = {"bytes": 1, "str": 1, "float": 2}.get(dtype.rstrip("0123456789"), 3)
    empty = field(1, field(1, field(1, b"a") + field(2, field(kind, b""))))
    records = [example(a=row) if row else empty for row in rows]
    absent, unset = example(b=1), example(a=None)
    schema = Schema({"a": Feature(dtype, (None,))})
    column = decode(schema, absent, *records, unset, *records, threads=threads)["a"]
    assert isinstance(column, Ragged)
    assert column.to_list() == [[], *rows, [], *rows]
    assert column.offsets.dtype == np.int64


@pytest.mark.parametrize("empty", [field(3, b""), field(3, field(1, b"")), field(3, field(1, b"") * 2)])
@pytest.mark.parametrize("dtype", ["int64", "int8"])
def test_a_first_row_may_be_empty(dtype: str, empty: bytes):
    record = field(1, field(1, field(1, b"a") + field(2, empty)))
    assert decode(Schema({"a": Feature(dtype, (None,))}), record)["a"].to_list() == [[]]


def test_items_have_the_inner_shape():
    schema = Schema({"a": Feature("int64", (None, 2)), "s": Feature("bytes", (None, 2))})
    batch = decode(schema, example(a=[1, 2, 3, 4], s=[b"a", b"b"]), example(), example(a=[5, 6]))
    assert batch["a"].to_list() == [[[1, 2], [3, 4]], [], [[5, 6]]]
    assert batch["a"].values.shape == (3, 2)
    assert batch["s"].to_list() == [[[b"a", b"b"]], [], []]


def test_a_part_of_an_item_raises():
    error = refuse(Schema({"a": Feature("int64", (None, 3))}), example(a=[1, 2, 3]), example(a=[1, 2, 3, 4]))
    assert str(error) == 'expected a multiple of 3 values, found 4: record 1, feature "a"'


NESTED = Schema({"a": Feature("int64", (None, None))})
DEEP = Schema({"a": Feature("int64", (None, None, None, 2), partitions=["outer", "inner"])})


def nested(values: list[int], lengths: list[int]) -> bytes:
    return example(**{"a/ragged_flat_values": values, "a/ragged_row_lengths_0": lengths})


@pytest.mark.parametrize("threads", [1, 4])
def test_row_lengths_make_inner_levels(threads: int):
    records = [nested([1, 2, 3], [2, 0, 1]), nested([], []), example(), nested([], [0, 0]), nested([4], [1])]
    assert decode(NESTED, *records, threads=threads)["a"].to_list() == [[[1, 2], [], [3]], [], [], [[], []], [[4]]]


def test_levels_go_as_deep_as_there_are_lengths():
    records = [
        example(a=[1, 2, 3, 4, 5, 6], outer=[2, 0], inner=[1, 2]),
        example(a=[7, 8], outer=[0, 1], inner=[1]),
        example(),
    ]
    assert decode(DEEP, *records)["a"].to_list() == [
        [[[[1, 2]], [[3, 4], [5, 6]]], []],
        [[], [[[7, 8]]]],
        [],
    ]


@pytest.mark.parametrize(
    "lengths", [[2], [], [4], [-1, 4], [2**63 - 1], [2**62] * 4, [2**63 - 1, 2**63 - 1, 5], [-(2**63), 2**63 - 1, 4]]
)
def test_row_lengths_must_add_up_in_every_record(lengths: list[int]):
    # The second record would make the sum right over the batch.
    error = refuse(NESTED, nested([1, 2, 3], [3]), nested([1, 2, 3], lengths), nested([1, 2, 3], [3]))
    assert (error.record, error.feature) == (1, "a")
    assert "row lengths of level 1 add up to" in str(error)


def test_an_optional_nested_feature_is_none_where_it_is_absent():
    schema = Schema({"a": Feature("int64", (None, None), optional=True)})
    assert decode(schema, nested([1, 2], [2]), example())["a"].to_list() == [[[1, 2]], None]


# Sequences

STEPS = Schema(
    {"id": Feature("int64", default=-1)},
    sequence={
        "x": Feature("float32", (2,)),
        "words": Feature("str", (None,)),
        "maybe": Feature("int16", optional=True),
    },
)


@pytest.mark.parametrize("threads", [1, 4])
def test_feature_lists_are_ragged_over_their_steps(threads: int):
    records = [
        sequence_example(
            {"id": 1}, {"x": [[1.0, 2.0], [3.0, 4.0]], "words": [["a", "b"], None, ["c"]], "maybe": [7, 8]}
        ),
        sequence_example({}, {"x": []}),
        sequence_example({"id": 3}, {"words": [["a rather long word"]], "x": [[5.0, 6.0]], "maybe": []}),
    ]
    batch = decode(STEPS, *records, threads=threads)
    assert batch["id"].tolist() == [1, -1, 3]
    assert batch["x"].to_list() == [[[1, 2], [3, 4]], [], [[5, 6]]]
    assert batch["x"].values.dtype == np.float32
    assert batch["words"].to_list() == [[["a", "b"], [], ["c"]], [], [["a rather long word"]]]
    assert isinstance(batch["maybe"], Nullable)
    assert batch["maybe"].to_list() == [[7, 8], None, []]


@pytest.mark.parametrize(
    ("lists", "feature", "message"),
    [
        ({}, "x", "found nothing"),
        ({"x": [[1.0]]}, "x", "expected 2 values, found 1"),
        ({"x": [[1.0, 2.0], None]}, "x", "expected 2 values, found 0"),
        ({"x": [[1, 2]]}, "x", "expected float, found int64"),
        ({"x": [], "words": [["a"], [1]]}, "words", "expected bytes, found int64"),
        ({"x": [], "maybe": [2**15]}, "maybe", "int16 does not hold"),
        ({"x": [], "maybe": [[1, 2]]}, "maybe", "expected 1 values, found 2"),
    ],
)
def test_a_step_that_does_not_fit_raises(lists: dict[str, Any], feature: str, message: str):
    error = refuse(STEPS, sequence_example({}, {"x": []}), sequence_example({}, lists))
    assert (error.record, error.feature) == (1, feature)
    assert message in str(error)


def test_in_a_context_an_unset_feature_is_not_an_absent_one():
    assert decode(STEPS, sequence_example({}, {"x": []}))["id"].tolist() == [-1]
    error = refuse(STEPS, sequence_example({"id": None}, {"x": []}))
    assert str(error).startswith("expected 1 values, found 0")


def test_raw_steps_are_arrays():
    schema = Schema({}, sequence={"frame": Feature("uint8", (2, 2), encoding="raw")})
    batch = decode(schema, sequence_example({}, {"frame": [b"abcd", b"efgh"]}))
    assert batch["frame"].values.tobytes() == b"abcdefgh"
    assert batch["frame"].values.shape == (2, 2, 2)


def test_feature_lists_of_an_example_are_unknown_fields():
    record = sequence_example({"a": 1}, {"x": [[1.0, 2.0]]})
    assert decode(Schema({"a": Feature("int64")}), record)["a"].tolist() == [1]
