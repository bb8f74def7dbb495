"""RaggedTensors are created from nested lists."""

from __future__ import annotations

import penstock.tf as tf


def test_all_levels_but_the_innermost_are_ragged():
    ragged = tf.ragged.constant([[[1], [2, 3]], []])
    assert ragged.to_list() == [[[1], [2, 3]], []]
    assert (ragged.ragged_rank, ragged.dtype, ragged.row_splits.dtype) == (2, tf.int32, tf.int64)


def test_the_ragged_rank_may_be_less_than_the_depth():
    ragged = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1, row_splits_dtype=tf.int32)
    assert ragged.shape.as_list() == [2, None, 2]
    assert ragged.row_splits.dtype == tf.int32
