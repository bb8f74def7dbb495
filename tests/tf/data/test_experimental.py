"""``tf.data.experimental``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def numbers(ds: Any) -> list[int]:
    return [int(element) for element in ds.as_numpy_iterator()]


def test_assert_cardinality_is_checked():
    ds = Dataset.range(3).filter(lambda x: x >= 0).apply(tf.data.experimental.assert_cardinality(4))
    assert len(ds) == 4
    with pytest.raises(tf.errors.FailedPreconditionError, match="expected to contain 4 elements but contained only 3"):
        numbers(ds)


def test_the_record_writer_writes_strings(tmp_path: Path):
    path = str(tmp_path / "some.tfrecord")
    ds = Dataset.from_generator(lambda: iter([b"one", b"two"]), output_types=tf.string, output_shapes=())
    tf.data.experimental.TFRecordWriter(path, "GZIP").write(ds)
    assert list(tf.data.TFRecordDataset(path, "GZIP").as_numpy_iterator()) == [b"one", b"two"]
    with pytest.raises(TypeError, match="string"):
        tf.data.experimental.TFRecordWriter(path).write(Dataset.range(2))


PIPELINES = {
    "slices": lambda: tf.data.Dataset.from_tensor_slices({"a": [3, 1, 2]}),
    "map": lambda: tf.data.Dataset.range(5).map(lambda x: x * 2),
    "untraced": lambda: tf.data.Dataset.range(5).map(lambda x: int(x)),
    "batch": lambda: tf.data.Dataset.range(5).batch(2),
    "repeat": lambda: tf.data.Dataset.range(3).repeat(2).skip(1).take(4),
    "shard": lambda: tf.data.Dataset.range(7).shard(3, 1),
    "zip": lambda: tf.data.Dataset.zip(tf.data.Dataset.range(3), tf.data.Dataset.range(5, 9)),
    "concatenate": lambda: tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(3)),
    "shuffle": lambda: tf.data.Dataset.range(9).shuffle(4, seed=1, reshuffle_each_iteration=False),
    "cache": lambda: tf.data.Dataset.range(5).filter(lambda x: x > 1).cache(),
    "unbatch": lambda: tf.data.Dataset.range(6).batch(3, drop_remainder=True).unbatch().prefetch(1),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_at_returns_the_elements_of_an_iteration(name: str) -> None:
    dataset = PIPELINES[name]()
    expected = [str(element) for element in dataset]
    for place in reversed(range(len(expected))):
        assert str(tf.data.experimental.at(dataset, place)) == expected[place]
    for place in (-1, len(expected)):
        with pytest.raises(tf.errors.OutOfRangeError):
            tf.data.experimental.at(dataset, place)


def test_at_says_where_there_is_no_random_access() -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match="cache"):
        tf.data.experimental.at(tf.data.Dataset.range(5).filter(lambda x: x > 1), 0)


def test_pad_to_cardinality_marks_what_it_appends() -> None:
    padded = tf.data.Dataset.from_tensor_slices({"a": [7, 8]}).apply(tf.data.experimental.pad_to_cardinality(3))
    found = [(int(element["a"]), bool(element["valid"])) for element in padded]
    assert found == [(7, True), (8, True), (0, False)]


def test_dense_to_sparse_batch_keeps_each_value_in_its_row() -> None:
    dataset = tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
    (batch,) = dataset.apply(tf.data.experimental.dense_to_sparse_batch(3, [4]))
    assert tf.sparse.to_dense(batch).numpy().tolist() == [[1, 0, 0, 0], [2, 2, 0, 0], [3, 3, 3, 0]]
    with pytest.raises(tf.errors.DataLossError, match="larger than the row shape"):
        list(dataset.sparse_batch(3, [2]))


def test_map_and_batch_and_its_relatives_are_the_methods_of_their_names() -> None:
    apply = tf.data.Dataset.range(6).apply
    experimental = tf.data.experimental
    batches = apply(experimental.map_and_batch(lambda x: x + 1, 4))
    assert [batch.numpy().tolist() for batch in batches] == [[1, 2, 3, 4], [5, 6]]
    assert sorted(int(x) for x in apply(experimental.shuffle_and_repeat(3, 2, seed=1))) == sorted([*range(6)] * 2)
    pairs = apply(experimental.parallel_interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), 2))
    assert [int(x) for x in pairs] == [0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5]
