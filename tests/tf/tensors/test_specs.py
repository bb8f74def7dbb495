"""Specs describe values before they are computed."""

from __future__ import annotations

import penstock.tf as tf


def test_specs_know_the_class_of_values():
    sparse = tf.SparseTensor(indices=[[0, 0], [1, 2]], values=[1, 2], dense_shape=[3, 4])
    values = (sparse, tf.ragged.constant([[1], [2, 3]]), tf.constant([1]))
    for value, spec in zip(values, tf.data.Dataset.from_tensors(values).element_spec, strict=True):
        assert spec.value_type is type(value)
