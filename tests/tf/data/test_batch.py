"""``ragged_batch``: what becomes ragged is decided by what is known of shapes, not by the values of a batch."""

from __future__ import annotations

from typing import Any

import pytest

import penstock.tf as tf


def test_sizes_that_are_not_known_become_ragged_and_others_do_not():
    def made(number: Any) -> Any:
        return tf.range(number), tf.stack([number, number])

    first, second = list(tf.data.Dataset.range(3).map(made).ragged_batch(2))
    assert isinstance(first[0], tf.RaggedTensor)
    assert [first[0].to_list(), second[0].to_list()] == [[[], [0]], [[0, 1]]]
    assert isinstance(first[1], tf.Tensor)
    assert first[1].numpy().tolist() == [[0, 0], [1, 1]]


def test_elements_of_one_size_are_ragged_all_the_same():
    (batch,) = tf.data.Dataset.range(2, 4).map(lambda number: tf.range(number - number + 2)).ragged_batch(2)
    assert isinstance(batch, tf.RaggedTensor)
    assert batch.to_list() == [[0, 1], [0, 1]]


def test_a_batch_is_ragged_down_to_the_last_size_that_is_not_known():
    (batch,) = tf.data.Dataset.range(1, 3).map(lambda number: tf.fill([number, 2], number)).ragged_batch(2)
    assert (batch.ragged_rank, batch.shape.as_list()) == (1, [2, None, 2])
    assert batch.to_list() == [[[1, 1]], [[2, 2], [2, 2]]]
    (batch,) = tf.data.Dataset.range(1, 3).map(lambda number: tf.fill([2, number], number)).ragged_batch(2)
    assert (batch.ragged_rank, batch.shape.as_list()) == (2, [2, 2, None])
    assert batch.to_list() == [[[1], [1]], [[2, 2], [2, 2]]]


def test_the_spec_tells_what_batches_are_like():
    batches = tf.data.Dataset.range(3).map(tf.range).ragged_batch(2, drop_remainder=True, row_splits_dtype=tf.int32)
    assert batches.element_spec == tf.RaggedTensorSpec([2, None], tf.int64, 1, tf.int32)
    assert next(iter(batches)).row_splits.dtype == tf.int32


def test_behind_a_function_that_is_not_traced_it_is_refused_and_not_guessed():
    elements = tf.data.Dataset.range(1, 3).map(lambda number: tf.constant([0] * int(number)))
    with pytest.raises(tf.errors.UnimplementedError, match="needs the shapes of elements"):
        elements.ragged_batch(2)


def test_rows_of_a_ragged_tensor_are_ragged_again_in_batches_behind_zip_and_unbatch():
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3], []]))
    _, pairs = zip(*tf.data.Dataset.zip((tf.data.Dataset.range(3), rows)).batch(2), strict=True)
    for batches in (pairs, list(rows.batch(3).unbatch().batch(2))):
        assert [batch.to_list() for batch in batches] == [[[1, 2], [3]], [[]]]
