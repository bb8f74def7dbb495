"""Tensors are created and converted, and shapes returned, as in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tf_examples import assert_operation

import penstock.tf as tf

CASES: list[tuple[Callable[..., Any], list[Any], Any]] = [
    (lambda x: tf.convert_to_tensor(x), [[1, 2]], [1, 2]),
    (lambda x: tf.zeros_like(x), [[[1.5, 2.5]]], [[0.0, 0.0]]),
    (lambda x: tf.ones_like(x, dtype=tf.int32), [[[1.5, 2.5]]], [[1, 1]]),
    (lambda x: tf.fill(tf.shape(x), 7), [[[1.5, 2.5]]], [[7, 7]]),
    (lambda x: tf.fill([2], x), [3], [3, 3]),
    (lambda x: tf.range(x, 9, 3), [2], [2, 5, 8]),
    (lambda x: tf.zeros(tf.shape(x)[:1]), [[[1.5, 2.5]]], [0.0]),
    (lambda x: tf.ones([tf.size(x)], tf.int32), [[[1.5, 2.5]]], [1, 1]),
    (lambda x: tf.shape(x), [[[1.5, 2.5]]], [1, 2]),
    (lambda x: tf.size(x), [[[1.5, 2.5]]], 2),
    (lambda x: tf.rank(x), [[[1.5, 2.5]]], 2),
    (lambda x: tf.identity(x), [["a", ""]], ["a", ""]),
    (lambda x: tf.ensure_shape(x, [None, 2]), [[[1, 2]]], [[1, 2]]),
    (lambda x: tf.one_hot(x, 3), [[2, -1]], [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
    (lambda x: tf.one_hot(x, 3, on_value=5, off_value=1, axis=0), [[2, 0]], [[1, 5], [1, 1], [5, 1]]),
    (lambda x: tf.cast(x, tf.int32), [[1.9, -1.9]], [1, -1]),
    (lambda x: tf.saturate_cast(x, tf.uint8), [[300.0, -5.0, 7.9]], np.array([255, 0, 7], np.uint8)),
]


@pytest.mark.parametrize(("function", "args", "expected"), CASES)
def test_values_are_those_of_tensorflow(function: Callable[..., Any], args: list[Any], expected: Any):
    assert_operation(function, args, tf.constant(expected))
