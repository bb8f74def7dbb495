"""``shuffle``; the order for each seed is compared with TensorFlow's in interop/tf/data."""

from __future__ import annotations

from typing import Any

import penstock.tf as tf

Dataset = tf.data.Dataset


def numbers(ds: Any) -> list[int]:
    return [int(element) for element in ds.as_numpy_iterator()]


def test_a_shuffle_without_a_seed_yields_each_element_once_in_a_new_order():
    ds = Dataset.range(1000).shuffle(1000)
    first, second = numbers(ds), numbers(ds)
    assert sorted(first) == sorted(second) == list(range(1000))
    assert first != second
