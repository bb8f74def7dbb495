"""Row partitions are validated against the values of their example."""

from __future__ import annotations

from typing import Any

import pytest
from tf_examples import example

import penstock.tf as tf


@pytest.mark.parametrize(
    ("partition", "values"),
    [
        (tf.io.RaggedFeature.RowLengths, [1, 1]),
        (tf.io.RaggedFeature.RowLengths, [4, -1]),
        (tf.io.RaggedFeature.RowSplits, [0, 2]),
        (tf.io.RaggedFeature.RowSplits, [1, 3]),
        (tf.io.RaggedFeature.RowLimits, [3, 2]),
        (tf.io.RaggedFeature.RowStarts, [1, 2]),
        (tf.io.RaggedFeature.ValueRowIds, [0, 1]),
        (tf.io.RaggedFeature.ValueRowIds, [1, 0, 2]),
        (tf.io.RaggedFeature.ValueRowIds, [0, 0, 2**62]),
        (tf.io.RaggedFeature.RowLengths, [2**62, 2**62, 3]),
    ],
)
def test_partitions_must_cover_the_values_exactly(partition: Any, values: list[int]):
    feature = tf.io.RaggedFeature(tf.int64, value_key="v", partitions=[partition("p")])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_example([example(v=[1, 2, 3], p=values)], {"r": feature})


def test_ragged_rows_of_a_sequence_may_be_partitioned_again():
    message = tf.train.SequenceExample()
    for values, lengths in (([1, 2, 3], [2, 1]), ([4], [1])):
        message.feature_lists.feature_list["v"].feature.add().int64_list.value.extend(values)
        message.feature_lists.feature_list["p"].feature.add().int64_list.value.extend(lengths)
    feature = tf.io.RaggedFeature(tf.int64, value_key="v", partitions=[tf.io.RaggedFeature.RowLengths("p")])
    _, lists, _ = tf.io.parse_sequence_example([message.SerializeToString()], {}, {"r": feature})
    assert lists["r"].to_list() == [[[[1, 2], [3]], [[4]]]]
