"""``window`` and ``bucket_by_sequence_length``."""

from __future__ import annotations

from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def test_elements_of_similar_lengths_share_a_batch():
    ds = Dataset.range(6).map(lambda x: tf.range(x)).bucket_by_sequence_length(tf.size, [3], [2, 2])
    assert [batch.shape.as_list() for batch in ds] == [[2, 1], [2, 4], [1, 2], [1, 5]]
    assert ds.element_spec.shape.as_list() == [None, None]
    full = Dataset.range(3).map(lambda x: tf.range(x))
    padded = full.bucket_by_sequence_length(tf.size, [5], [3, 1], pad_to_bucket_boundary=True)
    assert [batch.shape.as_list() for batch in padded] == [[3, 4]]


@pytest.mark.parametrize("options", [{"pad_to_bucket_boundary": True}, {"drop_remainder": True}])
def test_batches_of_all_buckets_share_one_spec(options: dict[str, bool]):
    lengths = tf.data.Dataset.range(1, 8).map(lambda number: tf.range(number % 4))
    batches = lengths.bucket_by_sequence_length(tf.size, [2, 4], [1, 3, 1], **options)
    assert batches.element_spec == tf.TensorSpec([None, None], tf.int64)
    assert len({tuple(batch.shape) for batch in batches}) > 1


def test_windows_shift_and_stride_over_the_elements():
    def windows(*sizes: int, **options: Any) -> list[list[int]]:
        return [[int(x) for x in window] for window in Dataset.range(7).window(*sizes, **options)]

    assert windows(3) == [[0, 1, 2], [3, 4, 5], [6]]
    assert windows(3, 2, 2, drop_remainder=True) == [[0, 2, 4], [2, 4, 6]]
    assert windows(2, 3) == [[0, 1], [3, 4], [6]]


def test_an_element_that_fails_fails_only_its_windows():
    windows = Dataset.range(6).map(lambda x: 6 // (x - 3)).window(2, 1, drop_remainder=True).ignore_errors()
    assert [[int(x) for x in window] for window in windows] == [[-2, -3], [-3, -6], [6, 3]]


def test_an_incomplete_group_comes_last_in_the_order_of_keys():
    groups = Dataset.range(7).group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3)
    assert [batch.numpy().tolist() for batch in groups] == [[0, 2, 4], [1, 3, 5], [6]]
