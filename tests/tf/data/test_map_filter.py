"""``take_while``, ``scan`` and ``unique``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def numbers(ds: Any) -> list[int]:
    return [int(element) for element in ds.as_numpy_iterator()]


def test_take_while_ends_at_the_first_false():
    assert numbers(Dataset.range(9).take_while(lambda x: x < 3)) == [0, 1, 2]


def test_each_iteration_of_a_scan_starts_from_the_initial_state():
    ds = Dataset.range(1, 5).scan(np.int64(0), lambda total, x: (total + x, total + x))
    assert numbers(ds) == numbers(ds) == [1, 3, 6, 10]


def test_unique_skips_repeated_elements():
    assert numbers(Dataset.from_tensor_slices([3, 1, 3, 2, 1]).unique()) == [3, 1, 2]
    with pytest.raises(TypeError, match="one component"):
        list(Dataset.from_tensor_slices([0.5]).unique())


def test_a_state_keeps_its_dtype():
    numbers = tf.data.Dataset.range(3)
    with pytest.raises(TypeError, match="element types for the new state"):
        numbers.scan(tf.constant(0), lambda state, x: (x, state))
    with pytest.raises(TypeError, match="return a pair"):
        numbers.scan(tf.constant(0), lambda state, x: state)
    with pytest.raises(TypeError, match="element types for the new state"):
        numbers.reduce(tf.constant(0), lambda state, x: x)
