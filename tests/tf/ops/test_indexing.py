"""Elements are selected by condition, index, mask and ``[]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tf_examples import assert_operation

import penstock.tf as tf

CASES: list[tuple[Callable[..., Any], list[Any], Any]] = [
    (lambda x: tf.where(x > 1, x, -x), [[1, 2, 3]], [-1, 2, 3]),
    (lambda x: tf.where(x > 1), [[1, 2, 3]], np.array([[1], [2]])),
    (lambda x: tf.gather(x, [2, 0], axis=1), [[[1, 2, 3]]], [[3, 1]]),
    (lambda x: tf.boolean_mask(x, [True, False, True]), [[1, 2, 3]], [1, 3]),
    (lambda x: x[1:, ..., tf.newaxis], [[1, 2, 3]], [[2], [3]]),
    (lambda x: x[0, -1], [[[1, 2, 3]]], 3),
    (lambda x: x[x > 1], [[1, 2, 3]], [2, 3]),
    (lambda x: x[::-1], [[1, 2, 3]], [3, 2, 1]),
]


@pytest.mark.parametrize(("function", "args", "expected"), CASES)
def test_values_are_those_of_tensorflow(function: Callable[..., Any], args: list[Any], expected: Any):
    assert_operation(function, args, tf.constant(expected))
