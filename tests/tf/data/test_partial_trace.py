"""Functions that are traced up to a point: computing the calls before it in batches changes no result."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def example(number: int) -> bytes:
    message = tf.train.Example()
    message.features.feature["label"].int64_list.value.append(number)
    return bytes(message.SerializeToString())


def records() -> Any:
    return Dataset.from_tensor_slices([example(number) for number in range(18)])


def parse(record: Any) -> Any:
    return tf.io.parse_single_example(record, {"label": tf.io.FixedLenFeature([], tf.int64)})["label"]


def condition_on_a_value(record: Any) -> Any:
    label = parse(record)  # with a new feature description each time
    return label if int(label) > 3 else tf.constant(0, tf.int64)


def numpy_arrays(record: Any) -> Any:
    label = parse(record)
    return np.asarray(label) + 1, label


@pytest.mark.parametrize("function", [condition_on_a_value, numpy_arrays])
def test_a_traced_prefix_changes_no_result(function: Callable[..., Any]):
    options = tf.data.Options()
    options.tracing = False
    ds, untraced = records().map(function), records().with_options(options).map(function)
    assert "before that, for many in one call: tf.io.parse_single_example" in ds.explain()
    assert repr(list(ds)) == repr(list(untraced))
    assert repr(list(ds.shuffle(4, seed=1).batch(5))) == repr(list(untraced.shuffle(4, seed=1).batch(5)))


def test_calls_that_differ_from_the_recorded_ones_are_made():
    summands = itertools.cycle([0, 1, 2])

    def another_call_each_time(record: Any) -> Any:
        label = parse(record) + next(summands)
        return label * 2 if int(label) > 5 else label

    ds = records().map(another_call_each_time)
    while next(summands) != 2:  # start from 0, wherever tracing stopped
        pass
    labels = [number + number % 3 for number in range(18)]
    assert [int(value) for value in ds] == [label * 2 if label > 5 else label for label in labels]
