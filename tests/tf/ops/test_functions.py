"""Python functions as operations, and control flow."""

from __future__ import annotations

from typing import Any

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


def test_py_function_decorates_functions():
    @tf.py_function(Tout=tf.string)
    def name(x: Any) -> str:
        return f"number {int(x)}"

    assert name(tf.constant(3)).numpy() == b"number 3"
    names = tf.data.Dataset.range(2).map(name)
    assert list(names.as_numpy_iterator()) == [b"number 0", b"number 1"]


def test_py_function_without_outputs_is_called():
    seen: list[int] = []
    tf.py_function(lambda x: seen.append(int(x)), [tf.constant(3)], [])
    assert seen == [3]


def test_case_takes_the_first_condition_that_holds():
    def kind(x: Any) -> Any:
        pairs = [(x > 2, lambda: "big"), (x > 1, lambda: "middle")]
        return tf.convert_to_tensor(tf.case(pairs, default=lambda: "small"))

    kinds = tf.data.Dataset.range(4).map(kind)
    assert list(kinds.as_numpy_iterator()) == [b"small", b"small", b"middle", b"big"]


def test_map_fn_stacks_the_results_of_slices():
    doubled, summed = tf.map_fn(lambda row: (row * 2, tf.reduce_sum(row)), tf.constant([[1, 2], [3, 4]]))
    assert (doubled.numpy().tolist(), summed.numpy().tolist()) == ([[2, 4], [6, 8]], [3, 7])
    assert tf.map_fn(lambda x: x, tf.constant([], tf.int64)).dtype == tf.int64
