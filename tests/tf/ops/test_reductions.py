"""Elements are reduced, scanned and sorted along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tf_examples import assert_operation

import penstock.tf as tf

CASES: list[tuple[Callable[..., Any], list[Any], Any]] = [
    (lambda x: tf.reduce_sum(x), [[[1, 2], [3, 4]]], 10),
    (lambda x: tf.reduce_mean(x, axis=0), [[[1, 2], [4, 4]]], [2, 3]),
    (lambda x: tf.reduce_max(x, axis=-1, keepdims=True), [[[1, 2], [4, 4]]], [[2], [4]]),
    (lambda x: tf.reduce_min(x), [[[1, 2], [4, 4]]], 1),
    (lambda x: tf.reduce_prod(x, [0, 1]), [[[1, 2], [4, 4]]], 32),
    (lambda x: tf.math.reduce_std(x), [[1.0, 3.0]], 1.0),
    (lambda x: tf.math.reduce_variance(x), [[1.0, 3.0]], 1.0),
    (lambda x: tf.reduce_any(x, 1), [[[True, False], [False, False]]], [True, False]),
    (lambda x: tf.reduce_all(x), [[[True, False], [False, False]]], False),
    (lambda x: tf.argmax(x, 1), [[[1, 2], [4, 4]]], np.array([1, 0])),
    (lambda x: tf.argmin(x, 0, tf.int32), [[[1, 2], [4, 4]]], [0, 0]),
    (lambda x: tf.cumsum(x, exclusive=True), [[1, 2, 3]], [0, 1, 3]),
    (lambda x: tf.sort(x, direction="DESCENDING"), [[2, 3, 1]], [3, 2, 1]),
    (lambda x: tf.argsort(x), [[2, 3, 1]], [2, 0, 1]),
    (lambda x: tf.unique(x).idx, [[5, 7, 5]], [0, 1, 0]),
    (lambda x: tf.sequence_mask(x, 3), [[1, 2]], [[True, False, False], [True, True, False]]),
]


@pytest.mark.parametrize(("function", "args", "expected"), CASES)
def test_values_are_those_of_tensorflow(function: Callable[..., Any], args: list[Any], expected: Any):
    assert_operation(function, args, tf.constant(expected))
