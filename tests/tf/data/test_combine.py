"""``choose_from_datasets``, ``sample_from_datasets`` and ``Dataset.random``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def numbers(ds: Any) -> list[int]:
    return [int(element) for element in ds.as_numpy_iterator()]


def test_choices_select_the_next_dataset():
    parts = [Dataset.range(3), Dataset.range(10, 12)]
    choices = Dataset.from_tensor_slices([1, 0, 0, 1, 1, 0])
    assert numbers(Dataset.choose_from_datasets(parts, choices)) == [10, 0, 1, 11]
    going_on = Dataset.choose_from_datasets(parts, choices, stop_on_empty_dataset=False)
    assert numbers(going_on) == [10, 0, 1, 11, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
        numbers(Dataset.choose_from_datasets(parts, Dataset.from_tensor_slices([2])))


def test_samples_follow_the_weights_and_repeat_with_the_seed():
    parts = [Dataset.from_tensors(0).repeat(), Dataset.from_tensors(1).repeat()]

    def drawn(seed: int, **options: Any) -> Any:
        return Dataset.sample_from_datasets(parts, [0.25, 0.75], seed=seed, **options).take(2000)

    assert 1400 < sum(numbers(drawn(1))) < 1600
    assert numbers(drawn(1)) == numbers(drawn(1)) != numbers(drawn(2))
    once, again = drawn(1), drawn(1, rerandomize_each_iteration=True)
    assert numbers(once) == numbers(once)
    assert numbers(again) != numbers(again)


def test_all_elements_are_sampled_unless_sampling_stops_on_an_empty_dataset():
    parts = [Dataset.range(5), Dataset.range(10, 40)]
    assert sorted(numbers(Dataset.sample_from_datasets(parts, seed=1))) == [*range(5), *range(10, 40)]
    assert len(numbers(Dataset.sample_from_datasets(parts, seed=1, stop_on_empty_dataset=True))) < 35


@pytest.mark.parametrize("stop", [False, True])
def test_a_dataset_with_weight_zero_does_not_block_the_end(stop: bool):
    def sampled(parts: list[Any], weights: Any) -> list[int]:
        return numbers(Dataset.sample_from_datasets(parts, weights, stop_on_empty_dataset=stop))

    infinite = Dataset.from_tensors(np.int64(7)).repeat()
    assert sampled([infinite, Dataset.range(3)], [0.0, 1.0]) == [0, 1, 2]
    assert sampled([Dataset.range(0), infinite], tf.constant([1.0, 0.0])) == []
    assert sampled([infinite, infinite], [0.0, 0.0]) == []
    assert sampled([Dataset.range(3), infinite, Dataset.range(0)], np.array([0.5, 0.0, 0.0])) == [0, 1, 2]


def test_a_wrong_number_of_weights_raises():
    with pytest.raises(ValueError, match="weights"):
        Dataset.sample_from_datasets([Dataset.range(1), Dataset.range(2)], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="should not be empty"):
        Dataset.sample_from_datasets([])


def test_random_numbers_are_infinite_and_repeat_with_their_seed():
    numbers = tf.data.Dataset.random(seed=4).take(300)
    first = list(numbers.as_numpy_iterator())
    assert list(numbers.as_numpy_iterator()) == first
    assert len(set(first)) > 290
    assert all(0 <= number < 2**32 for number in first)
    assert tf.data.Dataset.random().cardinality() == tf.data.INFINITE_CARDINALITY
    rerandomized = tf.data.Dataset.random(seed=4, rerandomize_each_iteration=True).take(5)
    assert list(rerandomized.as_numpy_iterator()) != list(rerandomized.as_numpy_iterator())


def test_random_numbers_depend_on_the_global_seed():
    def drawn() -> list[int]:
        tf.random.set_seed(7)
        return list(tf.data.Dataset.random().take(3).as_numpy_iterator())

    assert drawn() == drawn()
