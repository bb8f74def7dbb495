"""Python functions as operations, and control flow."""

from __future__ import annotations

import pytest

import penstock.tf as tf


def test_python_functions_return_the_dtypes_that_are_declared():
    assert tf.py_function(lambda x: x + 1, [tf.constant(1)], tf.float32).dtype == tf.float32
    both = tf.numpy_function(lambda x: (x + 1, b"text"), [tf.constant(1)], [tf.int32, tf.string])
    assert [value.numpy() for value in both] == [2, b"text"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected a function that returns int64, found int32"):
        tf.numpy_function(lambda x: x, [tf.constant(1)], tf.int64)


def test_exceptions_of_a_py_function_become_errors_of_tensorflow():
    def fail(x: tf.Tensor) -> None:
        raise ValueError("no")

    with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: no") as caught:
        tf.py_function(fail, [tf.constant(1)], tf.int32)
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(ValueError, match="no"):
        tf.numpy_function(fail, [tf.constant(1)], tf.int32)


def test_loops_end_on_a_condition_or_after_a_number_of_iterations():
    below = tf.while_loop(lambda x: x < 10, lambda x: x * 2, [tf.constant(1)])
    assert [value.numpy() for value in below] == [16]
    limited = tf.while_loop(lambda x: x < 10, lambda x: [x * 2], [tf.constant(1)], maximum_iterations=2)
    assert [value.numpy() for value in limited] == [4]
    with pytest.raises(TypeError, match="false_fn must be callable"):
        tf.cond(True, lambda: 1)
