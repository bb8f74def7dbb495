"""Dtypes are TensorFlow's."""

from __future__ import annotations

import penstock.tf as tf


def test_bfloat16():
    tensor = tf.cast([1.5, 2.0], tf.bfloat16)
    assert tensor.dtype == tf.bfloat16
    assert tf.cast(tensor, tf.float32).numpy().tolist() == [1.5, 2.0]
