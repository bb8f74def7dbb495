"""Examples and SequenceExamples are parsed by feature descriptions."""

from __future__ import annotations

import numpy as np
import pytest
from tf_examples import example

import penstock.tf as tf


def test_the_error_names_the_record_and_feature_that_does_not_match():
    features = {"label": tf.io.FixedLenFeature([], tf.int64)}
    with pytest.raises(tf.errors.InvalidArgumentError, match=r'expected int64, found bytes: record 1, feature "label"'):
        tf.io.parse_example([example(label=[1]), example(label=[b"x"])], features)
    with pytest.raises(tf.errors.OpError):
        tf.io.parse_single_example(b"\xff", features)


def test_the_error_for_a_missing_feature_suggests_a_default_value():
    wanted = {"label": tf.io.FixedLenFeature([], tf.int64)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="found nothing; a default_value lets it be absent"):
        tf.io.parse_single_example(example(other=[1]), wanted)


def test_defaults_that_compare_equal_are_distinguished():
    for default in (0.0, -0.0, 1.0):
        parsed = tf.io.parse_single_example(b"", {"a": tf.io.FixedLenFeature([], tf.float32, default)})
        assert str(parsed["a"].numpy()) == str(np.float32(default))
    with pytest.raises(TypeError):
        tf.io.parse_single_example(b"", {"a": tf.io.FixedLenFeature([], tf.int64, 1.0)})


def test_sparse_features_are_paired_within_an_example():
    feature = tf.io.SparseFeature("i", "v", tf.int64, 5)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_example([example(i=[0, 1], v=[1]), example(i=[0], v=[1, 2])], {"s": feature})


def test_a_key_may_occur_in_context_and_lists():
    message = tf.train.SequenceExample()
    message.context.feature["a"].int64_list.value.append(1)
    message.feature_lists.feature_list["a"].feature.add().int64_list.value.append(2)
    context, lists = tf.io.parse_single_sequence_example(
        message.SerializeToString(),
        {"a": tf.io.FixedLenFeature([], tf.int64)},
        {"a": tf.io.FixedLenSequenceFeature([], tf.int64)},
    )
    assert (context["a"].numpy(), lists["a"].numpy().tolist()) == (1, [2])


def test_examples_are_read_from_json():
    text = '{"features": {"feature": {"a": {"int64List": {"value": ["7"]}}}}}'
    serialized = tf.io.decode_json_example([text])
    parsed = tf.io.parse_example(serialized, {"a": tf.io.FixedLenFeature([], tf.int64)})
    assert parsed["a"].numpy().tolist() == [7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
        tf.io.decode_json_example("{")
