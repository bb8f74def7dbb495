"""``batch`` and ``ragged_batch``: known shapes, not the values of a batch, decide what becomes ragged."""

from __future__ import annotations

from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def test_an_error_about_different_shapes_names_the_component():
    ds = Dataset.range(1, 3).map(lambda x: (x, tf.range(x))).batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"component 1.* \[1\] and element 1 had shape \[2\]"):
        list(ds)


def test_only_components_with_unknown_sizes_become_ragged():
    def made(number: Any) -> Any:
        return tf.range(number), tf.stack([number, number])

    first, second = list(tf.data.Dataset.range(3).map(made).ragged_batch(2))
    assert isinstance(first[0], tf.RaggedTensor)
    assert [first[0].to_list(), second[0].to_list()] == [[[], [0]], [[0, 1]]]
    assert isinstance(first[1], tf.Tensor)
    assert first[1].numpy().tolist() == [[0, 0], [1, 1]]


def test_a_component_with_an_unknown_size_is_ragged_even_if_all_sizes_are_equal():
    (batch,) = tf.data.Dataset.range(2, 4).map(lambda number: tf.range(number - number + 2)).ragged_batch(2)
    assert isinstance(batch, tf.RaggedTensor)
    assert batch.to_list() == [[0, 1], [0, 1]]


def test_a_batch_is_ragged_down_to_the_last_unknown_dimension():
    (batch,) = tf.data.Dataset.range(1, 3).map(lambda number: tf.fill([number, 2], number)).ragged_batch(2)
    assert (batch.ragged_rank, batch.shape.as_list()) == (1, [2, None, 2])
    assert batch.to_list() == [[[1, 1]], [[2, 2], [2, 2]]]
    (batch,) = tf.data.Dataset.range(1, 3).map(lambda number: tf.fill([2, number], number)).ragged_batch(2)
    assert (batch.ragged_rank, batch.shape.as_list()) == (2, [2, 2, None])
    assert batch.to_list() == [[[1], [1]], [[2, 2], [2, 2]]]


def test_element_spec_describes_ragged_batches():
    batches = tf.data.Dataset.range(3).map(tf.range).ragged_batch(2, drop_remainder=True, row_splits_dtype=tf.int32)
    assert batches.element_spec == tf.RaggedTensorSpec([2, None], tf.int64, 1, tf.int32)
    assert next(iter(batches)).row_splits.dtype == tf.int32


def test_ragged_batch_raises_after_a_function_that_is_not_traced():
    elements = tf.data.Dataset.range(1, 3).map(lambda number: tf.constant([0] * int(number)))
    with pytest.raises(tf.errors.UnimplementedError, match="needs the shapes of elements"):
        elements.ragged_batch(2)


def test_rows_of_a_ragged_tensor_are_ragged_again_in_batches_after_zip_and_unbatch():
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3], []]))
    _, pairs = zip(*tf.data.Dataset.zip((tf.data.Dataset.range(3), rows)).batch(2), strict=True)
    for batches in (pairs, list(rows.batch(3).unbatch().batch(2))):
        assert [batch.to_list() for batch in batches] == [[[1, 2], [3]], [[]]]
