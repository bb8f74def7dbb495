"""Options: names are checked, values merged and compared."""

from __future__ import annotations

import pytest

import penstock.tf as tf


def test_options_are_equal_by_value() -> None:
    one, other = tf.data.Options(), tf.data.Options()
    assert one == other
    one.threading.private_threadpool_size = 4
    assert one != other
    other.experimental_threading.private_threadpool_size = 4
    assert one == other


def test_an_unknown_name_raises() -> None:
    with pytest.raises(AttributeError, match="determinstic"):
        tf.data.Options().determinstic = True
    with pytest.raises(AttributeError, match="no option"):
        _ = tf.data.Options().determinstic


def test_datasets_merge_the_options_that_are_set() -> None:
    first, second = tf.data.Options(), tf.data.Options()
    first.autotune.enabled, first.framework_type = True, ["seqio"]
    second.deterministic, second.framework_type = False, ["grain"]
    chained = tf.data.Dataset.range(1).with_options(first).map(lambda x: x).with_options(second)
    joined = tf.data.Dataset.zip(tf.data.Dataset.range(1).with_options(first), chained)
    for options in (chained.options(), joined.options()):
        assert options.autotune.enabled
        assert options.deterministic is False
        assert options.framework_type == ["seqio", "grain"]


def test_the_options_of_a_dataset_cannot_be_changed() -> None:
    options = tf.data.Dataset.range(1).options()
    with pytest.raises(ValueError, match="has no effect"):
        options.deterministic = True
    with pytest.raises(ValueError, match="has no effect"):
        options.autotune.enabled = True
