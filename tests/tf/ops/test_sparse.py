"""Sparse tensors convert to dense tensors and back."""

from __future__ import annotations

import pytest
from tf_examples import assert_operation, assert_same

import penstock.tf as tf


def test_dense_tensors_survive_a_round_trip():
    rows = [["a", ""], ["", "b"]]
    assert_operation(lambda x: tf.sparse.to_dense(tf.sparse.from_dense(x)), [rows], tf.constant(rows))
    assert_same(tf.sparse.from_dense([0, 3, 0, 5]).values, tf.constant([3, 5]))


def test_indices_must_be_sorted_distinct_and_in_range():
    def sparse(*indices: int) -> tf.SparseTensor:
        return tf.SparseTensor([[index] for index in indices], list(range(len(indices))), [5])

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sort them with tf\.sparse\.reorder"):
        tf.sparse.to_dense(sparse(3, 1))
    assert_same(tf.sparse.to_dense(tf.sparse.reorder(sparse(3, 1))), tf.constant([0, 1, 0, 0, 0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="repeated"):
        tf.sparse.to_dense(sparse(1, 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
        tf.sparse.to_dense(sparse(5))
