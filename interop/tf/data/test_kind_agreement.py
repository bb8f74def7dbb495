"""``isinstance`` of tensors in functions of a dataset: the same as in TensorFlow, traced or not."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle
from tf.expressions import REFUSED, evaluate, same

import penstock.tf as tf

UNTRACED = tf.data.Options()
UNTRACED.tracing = False

KINDS = [
    "tf.io.FixedLenFeature([], tf.int64, 5)",
    "tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)",
    "tf.io.VarLenFeature(tf.int64)",
    "tf.io.RaggedFeature(tf.int64)",
    "tf.io.RaggedFeature(tf.int64, partitions=[tf.io.RaggedFeature.UniformRowLength(1)])",
]

# Applied to each feature.
CHECKS = "(isinstance(v, tf.Tensor), isinstance(v, tf.RaggedTensor), isinstance(v, tf.SparseTensor), tf.is_tensor(v))"
TREATMENTS = [
    "tf.sparse.to_dense(v) if isinstance(v, tf.SparseTensor) else v",
    "tf.sparse.to_dense(v) if isinstance(v, tf.sparse.SparseTensor) else tf.cast(v, tf.int64)",
    "v if isinstance(v, tf.Tensor) else -1",
    "v.to_tensor() if isinstance(v, tf.RaggedTensor) else v",
    "v.values if not isinstance(v, tf.Tensor) else v",
    f"{CHECKS} + (v,)",
    "tf.is_tensor(v) and isinstance(tf.constant(1), tf.Tensor) and isinstance(v, tf.Tensor | tf.RaggedTensor)",
]


def record(values: list[int]) -> bytes:
    message = tf.train.Example()
    message.features.feature["a"].int64_list.value.extend(values)
    return bytes(message.SerializeToString())


def source_of(described: list[str], treatments: list[str], *, apart: bool) -> str:
    features = ", ".join(f"'{place}': ('a', {kind})" for place, kind in enumerate(described))
    parse = "{k: tf.io.parse_single_example(r, {key: kind})[key] for k, (key, kind) in features.items()}"
    treated = ", ".join(f"'{place}': (lambda v: {how})(p['{place}'])" for place, how in enumerate(treatments))
    maps = f".map(lambda r: {parse}).map(lambda p: {{{treated}}})"
    if not apart:
        maps = f".map(lambda r: (lambda p: {{{treated}}})({parse}))"
    return f"(lambda features: list(tf.data.Dataset.from_tensor_slices(records){maps}))({{{features}}})"


@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(TREATMENTS)), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=1), min_size=1, max_size=3),
    st.booleans(),
)
def test_functions_see_the_same_kinds_of_tensors(
    oracle: Oracle, cases: list[tuple[str, str]], rows: list[list[int]], apart: bool
) -> None:
    described, treatments = zip(*cases, strict=True)
    source = source_of(list(described), list(treatments), apart=apart)
    names: dict[str, Any] = {"records": [record(row) for row in rows]}
    (theirs,) = oracle.evaluate((source, names))
    assert theirs != REFUSED
    untraced = source.replace("(records)", "(records).with_options(untraced)")
    for ours in (evaluate(tf, source, names), evaluate(tf, untraced, {**names, "untraced": UNTRACED})):
        assert same(ours, theirs), f"{source}\n{ours}\n{theirs}"
