"""Elements of several datasets by choice, of one by a condition, and together by a key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def numbers(ds: Any) -> list[int]:
    return [int(value) for value in ds]


def test_choices_say_which_dataset_is_next():
    parts = [Dataset.range(3), Dataset.range(10, 12)]
    choices = Dataset.from_tensor_slices([1, 0, 0, 1, 1, 0])
    assert numbers(Dataset.choose_from_datasets(parts, choices)) == [10, 0, 1, 11]
    going_on = Dataset.choose_from_datasets(parts, choices, stop_on_empty_dataset=False)
    assert numbers(going_on) == [10, 0, 1, 11, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
        numbers(Dataset.choose_from_datasets(parts, Dataset.from_tensor_slices([2])))


def test_samples_come_as_often_as_weights_say_and_a_seed_repeats_them():
    parts = [Dataset.from_tensors(0).repeat(), Dataset.from_tensors(1).repeat()]

    def drawn(seed: int, **options: Any) -> Any:
        return Dataset.sample_from_datasets(parts, [0.25, 0.75], seed=seed, **options).take(2000)

    assert 1400 < sum(numbers(drawn(1))) < 1600
    assert numbers(drawn(1)) == numbers(drawn(1)) != numbers(drawn(2))
    once, again = drawn(1), drawn(1, rerandomize_each_iteration=True)
    assert numbers(once) == numbers(once)
    assert numbers(again) != numbers(again)


def test_all_elements_of_all_datasets_are_sampled_unless_it_stops_on_an_empty_one():
    parts = [Dataset.range(5), Dataset.range(10, 40)]
    assert sorted(numbers(Dataset.sample_from_datasets(parts, seed=1))) == [*range(5), *range(10, 40)]
    assert len(numbers(Dataset.sample_from_datasets(parts, seed=1, stop_on_empty_dataset=True))) < 35


@pytest.mark.parametrize("stop", [False, True])
def test_a_dataset_of_no_weight_is_not_waited_for(stop: bool):
    def sampled(parts: list[Any], weights: Any) -> list[int]:
        return numbers(Dataset.sample_from_datasets(parts, weights, stop_on_empty_dataset=stop))

    infinite = Dataset.from_tensors(np.int64(7)).repeat()
    assert sampled([infinite, Dataset.range(3)], [0.0, 1.0]) == [0, 1, 2]
    assert sampled([Dataset.range(0), infinite], tf.constant([1.0, 0.0])) == []
    assert sampled([infinite, infinite], [0.0, 0.0]) == []
    assert sampled([Dataset.range(3), infinite, Dataset.range(0)], np.array([0.5, 0.0, 0.0])) == [0, 1, 2]


def test_weights_are_one_for_each_dataset():
    with pytest.raises(ValueError, match="weights"):
        Dataset.sample_from_datasets([Dataset.range(1), Dataset.range(2)], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="should not be empty"):
        Dataset.sample_from_datasets([])


def test_a_pass_ends_where_a_condition_does_not_hold():
    assert numbers(Dataset.range(9).take_while(lambda x: x < 3)) == [0, 1, 2]


def test_a_state_goes_from_element_to_element_and_each_pass_begins_anew():
    ds = Dataset.range(1, 5).scan(np.int64(0), lambda total, x: (total + x, total + x))
    assert numbers(ds) == numbers(ds) == [1, 3, 6, 10]


def test_what_came_before_is_left_out():
    assert numbers(Dataset.from_tensor_slices([3, 1, 3, 2, 1]).unique()) == [3, 1, 2]
    with pytest.raises(TypeError, match="one component"):
        list(Dataset.from_tensor_slices([0.5]).unique())


def test_lengths_that_are_alike_share_a_batch():
    ds = Dataset.range(6).map(lambda x: tf.range(x)).bucket_by_sequence_length(tf.size, [3], [2, 2])
    assert [batch.shape.as_list() for batch in ds] == [[2, 1], [2, 4], [1, 2], [1, 5]]
    assert ds.element_spec.shape.as_list() == [None, None]
    full = Dataset.range(3).map(lambda x: tf.range(x))
    padded = full.bucket_by_sequence_length(tf.size, [5], [3, 1], pad_to_bucket_boundary=True)
    assert [batch.shape.as_list() for batch in padded] == [[3, 4]]


def test_a_number_of_elements_that_was_said_is_checked():
    ds = Dataset.range(3).filter(lambda x: x >= 0).apply(tf.data.experimental.assert_cardinality(4))
    assert len(ds) == 4
    with pytest.raises(tf.errors.FailedPreconditionError, match="expected to contain 4 elements but contained only 3"):
        numbers(ds)


def test_random_numbers_have_no_end_and_repeat_by_their_seed():
    numbers = tf.data.Dataset.random(seed=4).take(300)
    first = list(numbers.as_numpy_iterator())
    assert list(numbers.as_numpy_iterator()) == first
    assert len(set(first)) > 290
    assert all(0 <= number < 2**32 for number in first)
    assert tf.data.Dataset.random().cardinality() == tf.data.INFINITE_CARDINALITY
    anew = tf.data.Dataset.random(seed=4, rerandomize_each_iteration=True).take(5)
    assert list(anew.as_numpy_iterator()) != list(anew.as_numpy_iterator())


def test_random_numbers_follow_the_seed_of_the_program():
    def drawn() -> list[int]:
        tf.random.set_seed(7)
        return list(tf.data.Dataset.random().take(3).as_numpy_iterator())

    assert drawn() == drawn()
