"""``take``, ``skip``, ``shard``, ``repeat`` and ``concatenate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def test_concatenate_of_other_elements_raises():
    numbers = tf.data.Dataset.range(3)
    others = [
        tf.data.Dataset.from_tensor_slices([1.0]),
        tf.data.Dataset.zip((numbers, numbers)),
        numbers.map(lambda x: {"x": x}),
        tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]])),
    ]
    for other in others:
        with pytest.raises(TypeError, match="Incompatible dataset elements"):
            numbers.concatenate(other)


def test_concatenate_of_other_shapes_has_the_common_spec():
    pairs, threes = (tf.data.Dataset.range(6).batch(size, drop_remainder=True) for size in (2, 3))
    assert pairs.concatenate(threes).element_spec == tf.TensorSpec([None], tf.int64)
    assert pairs.concatenate(tf.data.Dataset.range(1)).element_spec == tf.TensorSpec(None, tf.int64)
    assert [element.shape[0] for element in pairs.concatenate(threes)] == [2, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (lambda ds: ds.take(2), [0, 1]),
        (lambda ds: ds.take(-1), [0, 1, 2, 3, 4]),
        (lambda ds: ds.skip(3), [3, 4]),
        (lambda ds: ds.skip(-1), []),
        (lambda ds: ds.shard(2, 1), [1, 3]),
        (lambda ds: ds.repeat(2).take(7), [0, 1, 2, 3, 4, 0, 1]),
        (lambda ds: ds.repeat(0), []),
        (lambda ds: ds.take(1).concatenate(ds.skip(4)), [0, 4]),
    ],
)
def test_the_cardinality_is_the_number_of_elements(transform: Callable[[Any], Any], expected: list[int]):
    ds = transform(Dataset.range(5))
    assert [int(x) for x in ds] == expected
    assert len(ds) == len(expected)


def test_an_error_counts_as_no_element():
    ds = Dataset.range(6).map(lambda x: 6 // (int(x) - 1))
    assert [int(x) for x in ds.take(3).ignore_errors()] == [-6, 6, 3]
    assert [int(x) for x in ds.skip(1).ignore_errors()] == [6, 3, 2, 1]
