"""Random values follow the seed."""

from __future__ import annotations

import pytest

import penstock.tf as tf


def test_random_values_depend_on_the_seed_only():
    tf.random.set_seed(5)
    first = tf.random.uniform([3]).numpy().tolist()
    tf.random.set_seed(5)
    assert tf.random.uniform([3]).numpy().tolist() == first
    drawn = tf.random.uniform([1000], 2, 5, tf.int32).numpy()
    assert set(drawn.tolist()) == {2, 3, 4}
    first, second = (tf.random.uniform([2], seed=1).numpy().tolist() for _ in range(2))
    assert first != second
    tf.random.set_seed(5)
    assert tf.random.uniform([2], seed=1).numpy().tolist() == first


def test_a_shuffle_of_nothing_counts_as_an_operation():
    # TensorFlow numbers the operations of a function; the value is TensorFlow's.
    tf.random.set_seed(0)
    ds = tf.data.Dataset.range(1).map(lambda x: (tf.random.shuffle(tf.range(0)), tf.random.uniform([])))
    assert [float(drawn) for _, drawn in ds] == [pytest.approx(0.5397302)]
