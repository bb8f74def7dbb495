"""A pipeline yields the same elements whether its functions are traced or called for each element."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf

FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "words": tf.io.VarLenFeature(tf.string),
}


def write(path: Path, numbers: range) -> str:
    with tf.io.TFRecordWriter(path) as writer:
        for number in numbers:
            example = tf.train.Example()
            example.features.feature["image"].bytes_list.value.append(bytes([number, 1, 2, 3]))
            example.features.feature["label"].int64_list.value.append(number)
            example.features.feature["words"].bytes_list.value.extend([b"w"] * (number % 3))
            writer.write(example.SerializeToString())
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [write(tmp_path / "a", range(7)), write(tmp_path / "b", range(7, 18))]


def parse(record: Any) -> Any:
    parsed = tf.io.parse_single_example(record, FEATURES)
    image = tf.reshape(tf.io.decode_raw(parsed["image"], tf.uint8), [2, 2])
    return tf.cast(image, tf.float32) / 255.0, parsed["label"]


def words(record: Any) -> Any:
    return tf.io.parse_single_example(record, FEATURES)["words"]


def constants(record: Any) -> Any:
    return {"one": 1, "record": record, "text": "t"}


def chosen(image: Any, label: Any) -> Any:
    if label % 3 == 0:
        image = tf.transpose(image)
    return image, label if label > 3 else -label


def over_rows(image: Any, label: Any) -> Any:
    total = tf.constant(0.0)
    for row in image:
        total = total + tf.reduce_max(row) * tf.cast(label, tf.float32)
    top, bottom = image
    return {"total": total, "image": image, "difference": bottom - top, "sizes": image.shape[0] + len(image)}


def over_words(record: Any) -> Any:
    last = tf.constant("none")
    for word in tf.sparse.to_dense(words(record)):
        last = tf.strings.join([last, word])
    return last


PIPELINES: dict[str, Callable[[Any], Any]] = {
    "map": lambda ds: ds.map(parse),
    "map, batch": lambda ds: ds.map(parse).batch(4),
    "map, shuffle, batch": lambda ds: ds.map(parse).shuffle(5, seed=1).batch(4).prefetch(1),
    "two maps": lambda ds: ds.map(parse).map(lambda image, label: {"i": image * 2, "l": label + 1}).batch(5),
    "map, repeat, take": lambda ds: ds.map(parse).repeat().skip(3).take(40).batch(7, drop_remainder=True),
    "map, shard, shuffle": lambda ds: ds.map(parse).shard(2, 1).shuffle(30, seed=2),
    "map, filter": lambda ds: ds.map(parse).filter(lambda image, label: label % 2 == 0).batch(3),
    "map, cache": lambda ds: ds.map(parse).cache().shuffle(6, seed=3).repeat(2).batch(5),
    "sparse": lambda ds: ds.map(words).batch(4),
    "padded": lambda ds: ds.map(lambda record: tf.sparse.to_dense(words(record))).padded_batch(4),
    "constants": lambda ds: ds.map(constants).batch(4),
    "zip": lambda ds: tf.data.Dataset.zip(ds.map(parse), tf.data.Dataset.range(9)),
    "concatenate": lambda ds: ds.map(parse).concatenate(ds.map(parse)).batch(5),
    "conditions": lambda ds: ds.map(parse).map(chosen).shuffle(5, seed=1).batch(4),
    "loops of a known size": lambda ds: ds.map(parse).map(over_rows).shuffle(5, seed=1).batch(4),
    "loops of unknown sizes": lambda ds: ds.map(over_words).shuffle(5, seed=1).batch(4),
    "unbatch": lambda ds: ds.map(parse).batch(4).unbatch(),
}


def untraced() -> tf.data.Options:
    options = tf.data.Options()
    options.tracing = False
    return options


@pytest.mark.parametrize("name", PIPELINES)
def test_traced_and_untraced_pipelines_yield_the_same(files: list[str], name: str):
    records = tf.data.TFRecordDataset(files)
    traced_pipeline = PIPELINES[name](records)
    untraced_pipeline = PIPELINES[name](records.with_options(untraced()))
    assert "traced" in traced_pipeline.explain()
    assert "tracing=False" in untraced_pipeline.explain()
    traced, expected = list(traced_pipeline), list(untraced_pipeline)
    assert len(expected) > 1
    assert repr(traced) == repr(expected)
    assert len(traced) == len(expected)
    assert repr(traced_pipeline.element_spec) == repr(untraced_pipeline.element_spec)


def test_an_untraceable_function_is_called_for_each_element(files: list[str]):
    def choose(image: Any, label: Any) -> Any:
        return image if int(label) > 3 else -image

    ds = tf.data.TFRecordDataset(files).map(parse).map(choose).batch(18)
    assert "map(parse): traced" in ds.explain()
    assert "map(choose): for each element, because of int() of a tensor" in ds.explain()
    (images,) = ds
    assert (np.asarray(images)[:4] <= 0).all()
    assert (np.asarray(images)[4:] >= 0).all()


def test_a_traced_function_is_called_once(files: list[str]):
    calls = []

    def count(record: Any) -> Any:
        calls.append(1)
        return parse(record)

    ds = tf.data.TFRecordDataset(files).map(count)
    assert len(list(ds)) == len(list(ds.shuffle(3).batch(1))) == 18
    assert len(calls) == 1


def test_elements_before_a_bad_record_come_first(tmp_path: Path):
    path = write(tmp_path / "a", range(5))
    with tf.io.TFRecordWriter(tmp_path / "b") as writer:
        for record in [*tf.data.TFRecordDataset(path).as_numpy_iterator(), b"no example"]:
            writer.write(record)
    ds = tf.data.TFRecordDataset(tmp_path / "b").map(parse)
    elements = iter(ds)
    labels = [next(elements)[1].numpy() for _ in range(5)]
    assert labels == [0, 1, 2, 3, 4]
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(elements)
    batches = iter(ds.batch(3))
    assert next(batches)[1].numpy().tolist() == [0, 1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(batches)


def test_interleaved_files_move_as_unparsed_records(files: list[str]):
    ds = tf.data.Dataset.from_tensor_slices(files).interleave(tf.data.TFRecordDataset, cycle_length=2)
    assert "moves records" in ds.explain()
    labels = [label.numpy() for _, label in ds.map(parse)]
    assert labels[:6] == [0, 7, 1, 8, 2, 9]
    assert sorted(labels) == list(range(18))
