"""Checks return their tensor or nothing, and raise."""

from __future__ import annotations

import pytest

import penstock.tf as tf


def test_check_numerics_returns_finite_tensors():
    assert tf.debugging.check_numerics(tf.constant([1.0]), "bad").numpy().tolist() == [1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had NaN"):
        tf.debugging.check_numerics(tf.constant([1.0, float("nan")]), "bad")


def test_assertions_compare_all_elements():
    tf.debugging.assert_less([1, 2], 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="sizes"):
        tf.debugging.assert_equal([1, 2], [1, 3], message="sizes")


def test_an_assertion_in_a_function_of_a_dataset_raises_for_its_element():
    def check(x: object) -> object:
        tf.debugging.assert_less(x, tf.constant(3, tf.int64))
        return x

    elements = iter(tf.data.Dataset.range(5).map(check))
    assert [int(next(elements)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(elements)
