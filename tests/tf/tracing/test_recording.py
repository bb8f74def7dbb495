"""Functions are recorded on symbols, or the reason why not is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tf_examples import assert_same, parse, records

import penstock.tf as tf
from penstock.tf.tracing.recording import INPUT, Untraceable
from penstock.tf.tracing.trace import Trace


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: [y for y in x], "different structures"),  # noqa: C416
        (lambda x: x.numpy(), r"the attribute \.numpy"),
        (lambda x: np.asarray(x), "an array of NumPy"),
        (lambda x: np.sin(x), "NumPy"),
        (lambda x: x.shape[0], r"the attribute \.shape"),
        (lambda x: x + tf.random.uniform([]), "random"),
        (lambda x: tf.image.random_flip_left_right(x), "random"),
        (lambda x: tf.py_function(lambda y: y, [x], tf.int64), "a Python function"),
        (lambda x: f"{x}", "the text"),
        (lambda x: range(x), "an index"),
        (lambda x: tf.unstack(x), "without num"),
    ],
)
def test_untraceable_functions_report_the_reason(function: Callable[..., Any], reason: str):
    with pytest.raises((Untraceable, TypeError), match=reason):
        Trace(function, (INPUT,))


def test_a_function_that_catches_all_exceptions_is_untraceable():
    def sly(x: Any) -> Any:
        try:
            return x + float(x)
        except Exception:
            return x

    with pytest.raises(Untraceable):
        Trace(sly, (INPUT,))


def test_nothing_is_recorded_after_a_trace():
    Trace(lambda x: x + 1, (INPUT,))
    assert (tf.constant(1) + 1).numpy() == 2


def decoded(record: Any) -> Any:
    parsed = parse(record)
    return {key: tf.sparse.to_dense(v) if isinstance(v, tf.SparseTensor) else v for key, v in parsed.items()}


def kinds(record: Any) -> Any:
    parsed = parse(record)
    kinds = (tf.Tensor, tf.SparseTensor, tf.RaggedTensor)
    return {key: tf.constant([*(isinstance(v, kind) for kind in kinds), tf.is_tensor(v)]) for key, v in parsed.items()}


@pytest.mark.parametrize("function", [decoded, kinds])
def test_symbols_are_instances_of_the_class_that_they_stand_for(function: Callable[..., Any]):
    made = records()
    ds = tf.data.Dataset.from_tensor_slices(made).map(function)
    assert "traced" in ds.explain()
    for record, found in zip(made, ds, strict=True):
        assert_same(found, function(tf.constant(record)))


def test_a_class_that_cannot_be_inferred_is_untraceable():
    def plain(x: Any) -> Any:
        return tf.sparse.to_dense(x) if isinstance(x, tf.SparseTensor) else x

    with pytest.raises(Untraceable, match="SparseTensor"):
        Trace(plain, (INPUT,))
    ds = tf.data.Dataset.range(3).map(lambda x: tf.sparse.from_dense(tf.stack([x, int(x)]))).map(plain)
    assert [x.numpy().tolist() for x in ds] == [[0, 0], [1, 1], [2, 2]]
