"""RaggedTensors are created, validated, sliced and padded like TensorFlow's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf


def test_ragged_tensors_are_validated():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.RaggedTensor.from_row_splits([1, 2], [0, 3])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.RaggedTensor.from_row_lengths([1, 2], [3, -1])


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (tf.RaggedTensor.from_row_starts, [0, 4, 4, 7, 8]),
        (tf.RaggedTensor.from_row_limits, [4, 4, 7, 8, 8]),
        (lambda values, ids: tf.RaggedTensor.from_value_rowids(values, ids, nrows=5), [0, 0, 0, 0, 2, 2, 2, 3]),
        (tf.RaggedTensor.from_row_lengths, [4, 0, 3, 1, 0]),
    ],
)
def test_rows_may_be_given_in_several_forms(make, rows):
    ragged = make([3, 1, 4, 1, 5, 9, 2, 6], rows)
    assert ragged.to_list() == [[3, 1, 4, 1], [], [5, 9, 2], [6], []]
    assert pickle.loads(pickle.dumps(ragged)).to_list() == ragged.to_list()


def test_a_uniform_row_length_is_part_of_the_shape():
    ragged = tf.RaggedTensor.from_uniform_row_length(tf.range(6), 2)
    assert ragged.to_list() == [[0, 1], [2, 3], [4, 5]]
    for found in (ragged, pickle.loads(pickle.dumps(ragged))):
        assert found.shape.as_list() == [3, 2]


def test_rows_are_padded_and_truncated():
    ragged = tf.ragged.constant([[9, 8, 7], [], [6, 5], [4]])
    assert ragged.to_tensor().numpy().tolist() == [[9, 8, 7], [0, 0, 0], [6, 5, 0], [4, 0, 0]]
    assert ragged.to_tensor(default_value=-1, shape=[None, 2]).numpy().tolist() == [[9, 8], [-1, -1], [6, 5], [4, -1]]
    assert ragged.to_tensor(shape=[5, 1]).numpy().tolist() == [[9], [0], [6], [4], [0]]


def test_row_lengths_are_available_for_each_dimension():
    ragged = tf.ragged.constant([[[1], [2, 3]], [], [[4]]])
    assert int(ragged.row_lengths(axis=0)) == 3
    assert ragged.row_lengths().numpy().tolist() == [2, 0, 1]
    assert ragged.row_lengths(axis=-1).to_list() == [[1, 2], [], [1]]
    with pytest.raises(ValueError, match="out of bounds"):
        ragged.row_lengths(axis=3)


@pytest.mark.parametrize("rows", [[[1, 2], [], [3]], [[[1, 2]], [[3, 4], [5, 6]]]])
def test_sparse_tensors_hold_the_same_values(rows: list[Any]):
    ragged = tf.ragged.constant(rows, ragged_rank=1)
    np.testing.assert_array_equal(tf.sparse.to_dense(ragged.to_sparse()), ragged.to_tensor())


def test_right_ragged_sparse_matrices_become_ragged():
    sparse = tf.ragged.constant([[1, 2], [], [3]]).to_sparse()
    assert tf.RaggedTensor.from_sparse(sparse).to_list() == [[1, 2], [], [3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="right-ragged"):
        tf.RaggedTensor.from_sparse(tf.sparse.from_dense([[0, 1]]))
    with pytest.raises(ValueError, match="must be 2"):
        tf.RaggedTensor.from_sparse(tf.sparse.from_dense([1]))


def test_dense_tensors_become_ragged_in_several_dimensions():
    dense = tf.constant([[[1, 0], [2, 3]], [[0, 0], [4, 0]]])
    assert tf.RaggedTensor.from_tensor(dense, padding=0, ragged_rank=2).to_list() == [[[1], [2, 3]], [[], [4]]]
    assert tf.RaggedTensor.from_tensor(dense, lengths=([1, 2], [2, 0, 1])).to_list() == [[[1, 0]], [[], [4]]]
    assert tf.RaggedTensor.from_tensor(dense).merge_dims(0, 1).numpy().tolist() == [[1, 0], [2, 3], [0, 0], [4, 0]]
