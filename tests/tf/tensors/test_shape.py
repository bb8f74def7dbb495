"""Shapes compare and combine like TensorFlow's."""

from __future__ import annotations

import pytest

import penstock.tf as tf


def test_shapes_compare_with_lists_and_tuples():
    shape = tf.zeros([2, 3]).shape
    assert shape == [2, 3]
    assert shape == (2, 3)
    assert shape.as_list() == [2, 3]
    assert (shape[0], shape[1:], shape.rank) == (2, [3], 2)
    assert [None, *shape] == [None, 2, 3]
    assert tf.TensorShape(None).rank is None
    with pytest.raises(ValueError, match="incompatible"):
        shape.assert_is_compatible_with([2, 4])
