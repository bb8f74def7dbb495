"""Sizes are checked before memory is allocated for a tensor."""

from __future__ import annotations

from typing import Any

import pytest

import penstock.tf as tf

HUGE = 1 << 46


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.image.resize(tf.ones([1, 2, 2, 3]), [1610637938] * 2),
        lambda: tf.image.resize(tf.ones([2, 2, 3]), [1610637938] * 2, "nearest"),
        lambda: tf.image.resize(tf.ones([2, 2, 3]), [1610637938] * 2, preserve_aspect_ratio=True),
        lambda: tf.compat.v1.image.resize(tf.ones([2, 2, 3]), [1610637938] * 2),
        lambda: tf.image.resize_with_crop_or_pad(tf.ones([2, 2, 3]), 1 << 30, 1 << 30),
        lambda: tf.fill([HUGE], 1.0),
        lambda: tf.zeros([HUGE]),
        lambda: tf.zeros([HUGE], tf.string),
        lambda: tf.ones([HUGE]),
        lambda: tf.constant(1, shape=[HUGE]),
        lambda: tf.tile([1], [HUGE]),
        lambda: tf.repeat([1, 2], HUGE),
        lambda: tf.repeat([1, 2], [HUGE, HUGE]),
        lambda: tf.range(HUGE),
        lambda: tf.range(0.0, float(HUGE)),
        lambda: tf.pad([1], [[HUGE, 0]]),
        lambda: tf.one_hot([1, 2], HUGE),
        lambda: tf.broadcast_to(1, [HUGE]),
        lambda: tf.sequence_mask([1], HUGE),
        lambda: tf.random.uniform([HUGE]),
        lambda: tf.sparse.to_dense(tf.SparseTensor([[0]], [1], [HUGE])),
        lambda: tf.ragged.constant([[1]]).to_tensor(shape=[1, HUGE]),
    ],
)
def test_sizes_beyond_the_free_memory_raise_before_allocation(make: Any):
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.fill([HUGE, HUGE], 1.0),
        lambda: tf.tile([[1, 2]], [HUGE, HUGE]),
        lambda: tf.pad([1], [[2**62, 2**62]]),
        lambda: tf.random.uniform([HUGE, HUGE]),
        lambda: tf.zeros([-1]),
        lambda: tf.one_hot([1], -1),
    ],
)
def test_impossible_sizes_raise(make: Any):
    with pytest.raises(tf.errors.InvalidArgumentError):
        make()
