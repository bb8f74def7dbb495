"""Feature descriptions are validated, and convert to a schema."""

from __future__ import annotations

import pytest
from tf_examples import example

import penstock as ps
import penstock.tf as tf


def test_invalid_descriptions_raise():
    record = example(a=[1])
    with pytest.raises(ValueError, match="cannot be None or empty"):
        tf.io.parse_single_example(record, {})
    with pytest.raises(ValueError, match="scalar"):
        tf.io.parse_single_example([record], {"a": tf.io.VarLenFeature(tf.int64)})
    with pytest.raises(ValueError, match="Unsupported int"):
        tf.io.parse_single_example(record, {"a": 5})
    with pytest.raises(ValueError, match="allow_missing"):
        tf.io.parse_single_example(record, {"a": tf.io.FixedLenSequenceFeature([], tf.int64)})
    with pytest.raises(ValueError, match="unknown"):
        tf.io.parse_single_example(record, {"a": tf.io.FixedLenFeature([None], tf.int64)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="not int32"):
        tf.io.parse_single_example(record, {"a": tf.io.FixedLenFeature([], tf.int32)})
    with pytest.raises(ValueError, match="must not intersect"):
        both = {"a": tf.io.VarLenFeature(tf.int64), "b": tf.io.RaggedFeature(tf.int64, value_key="a")}
        tf.io.parse_single_example(record, both)
    with pytest.raises(TypeError):
        tf.io.RaggedFeature(tf.int64, partitions="a")


def test_descriptions_convert_to_a_schema():
    features = {"a": tf.io.FixedLenFeature([2], tf.float32), "b": tf.io.VarLenFeature(tf.string)}
    schema = ps.Schema.from_tf(features)
    assert schema["a"] == ps.Feature("float32", (2,))
