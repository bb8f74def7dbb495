"""Other batches, classes and groups of the same elements."""

from __future__ import annotations

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def lists(dataset: tf.data.Dataset) -> list[list[int]]:
    return [element.tolist() for element in dataset.as_numpy_iterator()]


def test_rebatch_repeats_a_list_of_sizes() -> None:
    batches = Dataset.range(8).batch(4, drop_remainder=True)
    assert lists(batches.rebatch([2, 1])) == [[0, 1], [2], [3, 4], [5], [6, 7]]
    assert lists(batches.rebatch([3], drop_remainder=True)) == [[0, 1, 2], [3, 4, 5]]
    assert lists(batches.take(1).rebatch([0, 3])) == [[], [0, 1, 2], [], [3], []]


def test_rebatch_knows_the_size_of_its_batches() -> None:
    batches = Dataset.range(8).batch(4, drop_remainder=True)
    assert batches.rebatch([2, 2]).element_spec.shape == [2]
    assert batches.rebatch(3).element_spec.shape == [None]
    assert batches.rebatch(3, drop_remainder=True).element_spec.shape == [3]


@pytest.mark.parametrize("sizes", [[0], [], -1])
def test_rebatch_without_a_size_raises(sizes: object) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero"):
        Dataset.range(4).batch(2).rebatch(sizes)


@pytest.mark.parametrize("initial", [None, [0.5, 0.5]])
def test_rejection_resample_reaches_the_target_distribution(initial: object) -> None:
    dataset = Dataset.range(4000).rejection_resample(lambda x: x % 2, [0.9, 0.1], initial, seed=3)
    classes = np.array([(int(kind), int(value)) for kind, value in dataset])
    assert (classes[:, 0] == classes[:, 1] % 2).all()
    assert abs(classes[:, 0].mean() - 0.1) < 0.02
    assert len(classes) > 1500


def test_group_by_reducer_reduces_each_key() -> None:
    reducer = tf.data.experimental.Reducer(lambda key: np.int64(0), lambda state, x: state + x, lambda state: state)
    grouped = Dataset.range(6).apply(tf.data.experimental.group_by_reducer(lambda x: x % 2, reducer))
    assert [int(total) for total in grouped] == [0 + 2 + 4, 1 + 3 + 5]


def test_group_by_reducer_rejects_a_state_that_changes_its_dtype() -> None:
    reducer = tf.data.experimental.Reducer(lambda key: np.int64(0), lambda state, x: 0.5, lambda state: state)
    with pytest.raises(TypeError, match="element types for the new state"):
        list(Dataset.range(6).apply(tf.data.experimental.group_by_reducer(lambda x: x % 2, reducer)))
