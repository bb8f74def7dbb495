"""``element_spec``: what is known of elements without looking at one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf


@pytest.fixture
def no_records(tmp_path: Path) -> tf.data.Dataset:
    """Records, of which there are none: no element tells what elements are like."""
    path = tmp_path / "empty.tfrecord"
    path.write_bytes(b"")
    return tf.data.TFRecordDataset(str(path))


def test_shapes_follow_from_the_operations(no_records: tf.data.Dataset):
    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(
            record, {"image": tf.io.FixedLenFeature([], tf.string), "words": tf.io.VarLenFeature(tf.string)}
        )
        image = tf.io.decode_jpeg(found["image"], channels=3)
        resized = tf.image.resize(image, [8, 9])
        return image, resized / 255.0, tf.sparse.to_dense(found["words"])

    image, resized, words = no_records.map(parse).batch(4).element_spec
    assert image == tf.TensorSpec([None, None, None, 3], tf.uint8)
    assert resized == tf.TensorSpec([None, 8, 9, 3], tf.float32)
    assert words == tf.TensorSpec([None, None], tf.string)


def test_a_function_behind_batch_is_looked_through_too(no_records: tf.data.Dataset):
    features = {"x": tf.io.FixedLenFeature([3], tf.float32)}
    parsed = no_records.batch(4, drop_remainder=True).map(lambda records: tf.io.parse_example(records, features))
    assert parsed.element_spec == {"x": tf.TensorSpec([4, 3], tf.float32)}
    assert parsed.unbatch().element_spec == {"x": tf.TensorSpec([3], tf.float32)}


def test_a_size_is_known_where_all_ways_through_a_condition_agree():
    def chosen(number: Any) -> Any:
        return tf.fill([2, 3], number) if number > 2 else tf.fill([4, 3], number)

    assert tf.data.Dataset.range(5).map(chosen).element_spec == tf.TensorSpec([None, 3], tf.int64)


def test_set_shape_tells_what_is_not_known(no_records: tf.data.Dataset):
    def decoded(record: Any) -> Any:
        numbers = tf.io.decode_raw(record, tf.uint8)
        numbers.set_shape([4])
        return numbers

    assert no_records.map(decoded).element_spec == tf.TensorSpec([4], tf.uint8)


@pytest.mark.parametrize("tracing", [True, False])
def test_set_shape_is_checked_when_there_are_values(tracing: bool):
    def wrong(number: Any) -> Any:
        number.set_shape([4])
        return number

    options = tf.data.Options()
    options.tracing = tracing
    with pytest.raises(ValueError, match="incompatible"):
        list(tf.data.Dataset.range(2).with_options(options).map(wrong))


def test_a_function_that_is_not_traced_is_told_by_an_element():
    spec = tf.data.Dataset.range(1, 4).map(lambda number: np.ones(int(number), np.float32)).element_spec
    assert spec == tf.TensorSpec([1], tf.float32)


def test_sizes_that_are_values_of_an_operation_without_a_rule_leave_the_rank_open():
    spec = tf.data.Dataset.range(1, 4).map(lambda number: tf.one_hot(0, tf.cast(number, tf.int32))).element_spec
    assert spec == tf.TensorSpec(None, tf.float32)


def test_a_function_that_draws_random_values_is_looked_through_and_draws_none():
    def noisy(number: Any) -> Any:
        return tf.random.uniform([2, 3]) + tf.cast(number, tf.float32), tf.random.shuffle(tf.range(number))

    def drawn(*, asked: bool) -> list[Any]:
        tf.random.set_seed(7)
        elements = tf.data.Dataset.range(3).map(noisy)
        if asked:
            assert elements.element_spec == (tf.TensorSpec([2, 3], tf.float32), tf.TensorSpec([None], tf.int64))
        return [noise.numpy().tolist() for noise, _ in elements]

    assert drawn(asked=True) == drawn(asked=False)


def test_what_goes_on_with_other_elements_is_refused():
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


def test_what_goes_on_with_other_shapes_has_those_that_are_common():
    pairs, threes = (tf.data.Dataset.range(6).batch(size, drop_remainder=True) for size in (2, 3))
    assert pairs.concatenate(threes).element_spec == tf.TensorSpec([None], tf.int64)
    assert pairs.concatenate(tf.data.Dataset.range(1)).element_spec == tf.TensorSpec(None, tf.int64)
    assert [element.shape[0] for element in pairs.concatenate(threes)] == [2, 2, 2, 3, 3]


@pytest.mark.parametrize("options", [{"pad_to_bucket_boundary": True}, {"drop_remainder": True}])
def test_batches_of_all_buckets_have_one_spec(options: dict[str, bool]):
    lengths = tf.data.Dataset.range(1, 8).map(lambda number: tf.range(number % 4))
    batches = lengths.bucket_by_sequence_length(tf.size, [2, 4], [1, 3, 1], **options)
    assert batches.element_spec == tf.TensorSpec([None, None], tf.int64)
    assert len({tuple(batch.shape) for batch in batches}) > 1
