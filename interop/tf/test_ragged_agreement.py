"""Ordinary operations on random ragged tensors: the same results eagerly, in a traced function and in TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle
from tf.expressions import REFUSED, evaluate, same

import penstock.tf as tf

# Of R and Q, which have the same rows, and D, a column with a value for each row.
EXPRESSIONS = [
    *("R + Q", "R * 2 - Q", "-R", "R / 2", "R > Q", "R == Q", "tf.where(R > Q, R, Q)", "tf.maximum(R, 0)"),
    *("R + D", "tf.cast(R, tf.float32)", "tf.one_hot(R, 3)", "tf.zeros_like(R)", "tf.size(R)", "tf.rank(R)"),
    *(f"tf.reduce_{kind}(R, axis={axis})" for kind in ("sum", "max", "min", "prod") for axis in (None, 0, 1, -1)),
    *(f"tf.reduce_{kind}(R > 0, axis={axis})" for kind in ("any", "all") for axis in (None, 0, 1)),
    *("tf.reduce_mean(tf.cast(R, tf.float64), axis=0)", "tf.reduce_sum(R, axis=1, keepdims=True)"),
    *(
        "tf.concat([R, Q], 0)",
        "tf.concat([R, Q], 1)",
        "tf.stack([R, Q])",
        "tf.stack([R, Q], 1)",
        "tf.concat([R, D], 1)",
    ),
    *("tf.expand_dims(R, 0)", "tf.expand_dims(R, 1)", "tf.gather(R, [0, -1 + R.nrows(), 0])", "tf.gather(R, [99])"),
    *(
        "tf.ragged.boolean_mask(R, R > Q)",
        "tf.ragged.boolean_mask(R, D[:, 0] > 0)",
        "R.to_sparse()",
        "R.bounding_shape()",
    ),
    *("tf.RaggedTensor.from_sparse(R.to_sparse())", "R.merge_dims(0, 1)", "R.with_row_splits_dtype(tf.int32)"),
    *("tf.strings.as_string(R)", "tf.strings.length(tf.strings.as_string(R))", "tf.clip_by_value(R, 0, 2)"),
]
# A new dimension has a known size here, and often none in a graph.
TRACED = [
    source for source in EXPRESSIONS if not any(part in source for part in ("R.", "D", "expand_dims", "keepdims"))
]

ROWS = st.lists(st.lists(st.integers(-4, 4), max_size=4), min_size=1, max_size=4)


def names_of(rows: list[list[int]]) -> dict[str, Any]:
    lengths = np.array([len(row) for row in rows])
    values = np.array([value for row in rows for value in row], np.int32)
    return {"values": values, "other": np.roll(values, 1), "lengths": lengths, "column": np.arange(len(rows))[:, None]}


def source_of(expression: str) -> str:
    ragged = "tf.RaggedTensor.from_row_lengths({}, lengths)"
    first, second = ragged.format("values"), ragged.format("other")
    return f"(lambda R, Q, D: {expression})({first}, {second}, tf.cast(column, tf.int32))"


def traced_source_of(expression: str) -> str:
    split = "tf.strings.split(tf.reshape(text, [-1]))"
    numbers = f"tf.ragged.map_flat_values(tf.strings.to_number, {split}, tf.int32)"
    return (
        f"list(tf.data.Dataset.from_tensors(texts).map(lambda text: (lambda R, Q: {expression})({numbers}, {numbers})))"
    )


@given(st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=8), ROWS)
def test_results_are_those_of_tensorflow(oracle: Oracle, expressions: list[str], rows: list[list[int]]) -> None:
    names = names_of(rows)
    sources = [source_of(expression) for expression in expressions]
    for source, theirs in zip(sources, oracle.evaluate(*((source, names) for source in sources)), strict=True):
        ours = evaluate(tf, source, names)
        assert same(ours, theirs), f"{source}\n{ours}\n{theirs}"


@given(st.lists(st.sampled_from(TRACED), min_size=1, max_size=8), ROWS)
def test_traced_functions_return_the_same(oracle: Oracle, expressions: list[str], rows: list[list[int]]) -> None:
    names = {"texts": np.array([" ".join(map(str, row)).encode() for row in rows], object)}
    sources = [traced_source_of(expression) for expression in expressions]
    for source, theirs in zip(sources, oracle.evaluate(*((source, names) for source in sources)), strict=True):
        ours = evaluate(tf, source, names)
        assert theirs is not REFUSED
        assert same(ours, theirs), f"{source}\n{ours}\n{theirs}"
