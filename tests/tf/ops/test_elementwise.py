"""Arithmetic, comparison and logic on each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tf_examples import assert_operation

import penstock.tf as tf

CASES: list[tuple[Callable[..., Any], list[Any], Any]] = [
    (lambda x, y: x + y, [["a", "b"], "c"], ["ac", "bc"]),
    (lambda x, y: x - y, [[[1, 2], [3, 4]], [1, 2]], [[0, 0], [2, 2]]),
    (lambda x, y: x * y, [[1.5, 2.0], 2.0], [3.0, 4.0]),
    (lambda x: x / 2, [[1, 2]], np.array([0.5, 1.0])),
    (lambda x: x // 2, [[-3, 3]], [-2, 1]),
    (lambda x: x % 3, [[-4, 4]], [2, 1]),
    (lambda x: x**2, [[-3, 3]], [9, 9]),
    (lambda x, y: x @ y, [[[1, 2]], [[3], [4]]], [[11]]),
    (lambda x, y: tf.maximum(x, y), [[1, 5], 3], [3, 5]),
    (lambda x, y: tf.minimum(x, y), [[1, 5], 3], [1, 3]),
    (lambda x, y: tf.math.squared_difference(x, y), [[1, 5], 3], [4, 4]),
    (lambda x, y: x == y, [["a", "b"], "b"], [False, True]),
    (lambda x, y: x != y, [[1, 2], [1, 3]], [False, True]),
    (lambda x: x < 2, [[1, 2]], [True, False]),
    (lambda x: tf.greater_equal(x, 2), [[1, 2]], [False, True]),
    (lambda x, y: x & y, [[True, False], [True, True]], [True, False]),
    (lambda x, y: tf.math.logical_xor(x, y), [[True, False], [True, True]], [False, True]),
    (lambda x: ~x, [[5, -1]], [-6, 0]),
    (lambda x: tf.logical_not(x), [[True, False]], [False, True]),
    (lambda x: -tf.abs(x), [[-2, 3]], [-2, -3]),
    (lambda x: tf.sign(x), [[-2.5, 0.0]], [-1.0, 0.0]),
    (lambda x: tf.sqrt(x), [[4.0, 9.0]], [2.0, 3.0]),
    (lambda x: tf.math.rsqrt(x), [[4.0, 0.25]], [0.5, 2.0]),
    (lambda x: tf.exp(x) + tf.sigmoid(x), [[0.0, 0.0]], [1.5, 1.5]),
    (lambda x: tf.round(x), [[0.5, 1.5, -0.5]], [0.0, 2.0, 0.0]),
    (lambda x: tf.math.is_nan(x), [[np.nan, 1.0]], [True, False]),
    (lambda x: tf.clip_by_value(x, 0, 2), [[-1, 1, 5]], [0, 1, 2]),
]


@pytest.mark.parametrize(("function", "args", "expected"), CASES)
def test_values_are_those_of_tensorflow(function: Callable[..., Any], args: list[Any], expected: Any):
    assert_operation(function, args, tf.constant(expected))


def test_dtypes_are_not_promoted():
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32 and float32"):
        tf.constant(1) + tf.constant(1.5)
    with pytest.raises(TypeError):
        tf.constant([1, 2]) + 1.5
