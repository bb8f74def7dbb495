"""``Dataset``: iteration, length and ``element_spec``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def test_iterators_are_independent():
    ds = Dataset.range(3)
    one, other = iter(ds), iter(ds)
    assert [int(next(one)), int(one.get_next()), int(next(other))] == [0, 1, 0]
    assert [int(rest) for rest in one] == [2]
    with pytest.raises(StopIteration):
        next(one)


def test_elements_convert_to_numpy_arrays():
    ((pair, label),) = Dataset.from_tensor_slices(([[1.0, 2.0]], [3])).batch(1)
    assert np.asarray(pair).dtype == np.float32
    assert np.array_equal(pair, [[1.0, 2.0]])
    assert label.numpy().tolist() == [3]


def test_len_returns_the_length_or_raises():
    assert len(Dataset.range(10).batch(3)) == 4
    with pytest.raises(TypeError, match="infinite"):
        len(Dataset.range(10).repeat())
    with pytest.raises(TypeError, match="unknown"):
        len(Dataset.range(10).filter(lambda x: x > 3))
    assert Dataset.range(0)  # a dataset is true, be it empty


@pytest.mark.parametrize(
    "unsupported",
    [
        lambda: Dataset.range(3).save("somewhere", checkpoint_args={}),
        lambda: Dataset.range(3).snapshot("folder"),
    ],
)
def test_missing_features_raise(unsupported: Any):
    with pytest.raises((tf.errors.UnimplementedError, AttributeError), match=r"not part of"):
        unsupported()


@pytest.fixture
def no_records(tmp_path: Path) -> tf.data.Dataset:
    """An empty dataset of records: there is no element to infer a spec from."""
    path = tmp_path / "empty.tfrecord"
    path.write_bytes(b"")
    return tf.data.TFRecordDataset(str(path))


def test_element_spec_is_inferred_from_operations(no_records: tf.data.Dataset):
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


def test_element_spec_is_inferred_after_batch(no_records: tf.data.Dataset):
    features = {"x": tf.io.FixedLenFeature([3], tf.float32)}
    parsed = no_records.batch(4, drop_remainder=True).map(lambda records: tf.io.parse_example(records, features))
    assert parsed.element_spec == {"x": tf.TensorSpec([4, 3], tf.float32)}
    assert parsed.unbatch().element_spec == {"x": tf.TensorSpec([3], tf.float32)}


def test_a_size_is_known_where_all_branches_agree():
    def chosen(number: Any) -> Any:
        return tf.fill([2, 3], number) if number > 2 else tf.fill([4, 3], number)

    assert tf.data.Dataset.range(5).map(chosen).element_spec == tf.TensorSpec([None, 3], tf.int64)


def test_set_shape_sets_an_unknown_shape(no_records: tf.data.Dataset):
    def decoded(record: Any) -> Any:
        numbers = tf.io.decode_raw(record, tf.uint8)
        numbers.set_shape([4])
        return numbers

    assert no_records.map(decoded).element_spec == tf.TensorSpec([4], tf.uint8)


@pytest.mark.parametrize("tracing", [True, False])
def test_set_shape_is_checked_against_values(tracing: bool):
    def wrong(number: Any) -> Any:
        number.set_shape([4])
        return number

    options = tf.data.Options()
    options.tracing = tracing
    with pytest.raises(ValueError, match="incompatible"):
        list(tf.data.Dataset.range(2).with_options(options).map(wrong))


def test_the_spec_of_an_untraced_function_is_that_of_an_element():
    spec = tf.data.Dataset.range(1, 4).map(lambda number: np.ones(int(number), np.float32)).element_spec
    assert spec == tf.TensorSpec([1], tf.float32)


def test_an_operation_without_a_shape_rule_leaves_the_rank_unknown():
    spec = tf.data.Dataset.range(1, 4).map(lambda number: tf.one_hot(0, tf.cast(number, tf.int32))).element_spec
    assert spec == tf.TensorSpec(None, tf.float32)


def test_element_spec_of_random_values_draws_none():
    def noisy(number: Any) -> Any:
        return tf.random.uniform([2, 3]) + tf.cast(number, tf.float32), tf.random.shuffle(tf.range(number))

    def drawn(*, with_spec: bool) -> list[Any]:
        tf.random.set_seed(7)
        elements = tf.data.Dataset.range(3).map(noisy)
        if with_spec:
            assert elements.element_spec == (tf.TensorSpec([2, 3], tf.float32), tf.TensorSpec([None], tf.int64))
        return [noise.numpy().tolist() for noise, _ in elements]

    assert drawn(with_spec=True) == drawn(with_spec=False)
