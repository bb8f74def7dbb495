"""Specs of results are inferred from the specs of arguments, as TensorFlow infers them."""

from __future__ import annotations

from typing import Any

import numpy as np
from tf_examples import FEATURES

import penstock.tf as tf
from penstock.tf.tensors.specs import UNKNOWN_SPEC
from penstock.tf.tracing.infer_specs import specs_of_results
from penstock.tf.tracing.recording import INPUT
from penstock.tf.tracing.trace import Trace


def inferred(function: Any, *specs: Any, effects: bool = False) -> Any:
    return specs_of_results(Trace(function, (INPUT,) * len(specs), effects=effects), specs)


IMAGE = tf.TensorSpec([None, 6, 3], tf.uint8)


def test_sizes_are_known_in_part():
    assert inferred(lambda x: tf.transpose(x), IMAGE) == tf.TensorSpec([3, 6, None], tf.uint8)
    assert inferred(lambda x: tf.reshape(x, [tf.shape(x)[0], -1]), IMAGE).shape == [None, None]
    assert inferred(lambda x: tf.reshape(x, tf.concat([tf.shape(x)[1:], [-1]], 0)), IMAGE).shape == [6, 3, None]
    assert inferred(lambda x: tf.zeros([tf.shape(x)[2], 2]), IMAGE) == tf.TensorSpec([3, 2], tf.float32)


def test_both_branches_of_a_condition_count():
    def padded(x: Any) -> Any:
        return tf.zeros([4, 2]) if tf.reduce_max(x) > 5 else tf.zeros([3, 2])

    assert inferred(padded, IMAGE) == tf.TensorSpec([None, 2], tf.float32)


def test_a_branch_that_shapes_rule_out_does_not_count():
    def wide(x: Any) -> Any:
        return tf.zeros([4]) if tf.shape(x)[1] > 5 else tf.zeros([3])

    assert inferred(wide, IMAGE) == tf.TensorSpec([4], tf.float32)


def test_a_shape_that_is_set_is_known_from_there_on():
    def checked(x: Any) -> Any:
        y = x * 2
        y.set_shape([4, None, None])
        return y + 1

    assert inferred(checked, IMAGE) == tf.TensorSpec([4, 6, 3], tf.uint8)


def test_parsing_infers_specs_from_the_description():
    def parse(record: Any) -> Any:
        return tf.io.parse_single_example(record, FEATURES)

    assert inferred(parse, tf.TensorSpec([], tf.string)) == {
        "image": tf.TensorSpec([], tf.string),
        "label": tf.TensorSpec([], tf.int64),
        "box": tf.TensorSpec([4], tf.float32),
        "words": tf.SparseTensorSpec([None], tf.string),
        "marks": tf.TensorSpec([None], tf.int64),
        "runs": tf.TensorSpec([None], tf.float32),
    }


def test_an_unknown_spec_stays_unknown():
    assert inferred(lambda x: tf.repeat(x, 2, axis=0), IMAGE) is UNKNOWN_SPEC
    assert inferred(lambda x: tf.repeat(x, 2, axis=0) + 1, IMAGE) is UNKNOWN_SPEC


def test_python_functions_have_the_dtypes_that_are_declared():
    def scaled(x: Any) -> Any:
        return tf.numpy_function(lambda y: y.astype(np.float32), [tf.repeat(x, 2, axis=0)], tf.float32)

    assert inferred(scaled, IMAGE, effects=True) == tf.TensorSpec(None, tf.float32)
