"""Shapes are changed: reshape, transpose, join, split, repeat and pad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tf_examples import assert_operation

import penstock.tf as tf

CASES: list[tuple[Callable[..., Any], list[Any], Any]] = [
    (lambda x: tf.reshape(x, [-1, 2]), [[1, 2, 3, 4]], [[1, 2], [3, 4]]),
    (lambda x: tf.expand_dims(x, -1), [[1, 2]], [[1], [2]]),
    (lambda x: tf.squeeze(x), [[[[1, 2]]]], [1, 2]),
    (lambda x: tf.squeeze(x, axis=0), [[[[1, 2]]]], [[1, 2]]),
    (lambda x: tf.transpose(x), [[[1, 2], [3, 4]]], [[1, 3], [2, 4]]),
    (lambda x: tf.transpose(x, [1, 0, 2]), [[[[1], [2]]]], [[[1]], [[2]]]),
    (lambda x: tf.reverse(x, [0]), [[1, 2, 3]], [3, 2, 1]),
    (lambda x, y: tf.stack([x, y], axis=1), [[1, 2], [3, 4]], [[1, 3], [2, 4]]),
    (lambda x, y: tf.concat([x, y], -1), [[[1, 2]], [[3]]], [[1, 2, 3]]),
    (lambda x: tf.unstack(x, num=2, axis=1)[1], [[[1, 2], [3, 4]]], [2, 4]),
    (lambda x: tf.split(x, [1, -1])[1], [[1, 2, 3]], [2, 3]),
    (lambda x: tf.split(x, 3)[0], [[1, 2, 3]], [1]),
    (lambda x: tf.tile(x, [1, 2]), [[[1, 2]]], [[1, 2, 1, 2]]),
    (lambda x: tf.repeat(x, 2), [[1, 2]], [1, 1, 2, 2]),
    (lambda x: tf.pad(x, [[1, 0]], constant_values=9), [[1, 2]], [9, 1, 2]),
    (lambda x: tf.pad(x, [[0, 1]], "REFLECT"), [[1, 2]], [1, 2, 1]),
    (lambda x: tf.broadcast_to(x, [2, 2]), [[1, 2]], [[1, 2], [1, 2]]),
]


@pytest.mark.parametrize(("function", "args", "expected"), CASES)
def test_values_are_those_of_tensorflow(function: Callable[..., Any], args: list[Any], expected: Any):
    assert_operation(function, args, tf.constant(expected))
