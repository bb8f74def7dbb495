"""Datasets of the records and lines of files."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest

import penstock.tf as tf
from penstock.errors import CorruptDataError

Dataset = tf.data.Dataset


def test_damage_raises_after_the_records_before_it(tmp_path: Path):
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(3):
            writer.write(bytes([number]) * 10)
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)
    whole = tf.data.TFRecordDataset(path)
    for ds in (
        whole,
        whole.map(lambda record: record),
        whole.map(lambda record: record if len(record.numpy()) else ""),
    ):
        records = iter(ds)
        assert [next(records).numpy()[0] for _ in range(2)] == [0, 1]
        with pytest.raises(CorruptDataError) as raised:
            next(records)
        assert isinstance(raised.value, tf.errors.DataLossError)
        assert raised.value.record == 2


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_lines_are_read_without_their_ends(tmp_path: Path, compression: str) -> None:
    content = b"one\r\ntwo\n\nlast"
    packed = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[compression](content)
    (tmp_path / "a.txt").write_bytes(packed)
    dataset = tf.data.TextLineDataset([tmp_path / "a.txt"] * 2, compression)
    assert list(dataset.as_numpy_iterator()) == [b"one", b"two", b"", b"last"] * 2
    assert dataset.element_spec == tf.TensorSpec([], tf.string)


def test_records_of_one_length_lie_between_header_and_footer(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"HHHaabbccF")
    dataset = tf.data.FixedLengthRecordDataset(str(tmp_path / "a.bin"), 2, 3, 1)
    assert list(dataset.as_numpy_iterator()) == [b"aa", b"bb", b"cc"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an exact multiple"):
        list(tf.data.FixedLengthRecordDataset(str(tmp_path / "a.bin"), 4, 3, 1))


def test_batched_features_are_parsed_with_their_labels(tmp_path: Path) -> None:
    def record(number: int) -> bytes:
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
        data: bytes = tf.train.Example(features=tf.train.Features(feature={"x": feature, "y": feature}))
        return data.SerializeToString()

    with tf.io.TFRecordWriter(str(tmp_path / "a.tfrecord")) as writer:
        for number in range(5):
            writer.write(record(number))
    feature = tf.io.FixedLenFeature([], tf.int64)
    dataset = tf.data.experimental.make_batched_features_dataset(
        str(tmp_path / "*.tfrecord"), 2, {"x": feature, "y": feature}, label_key="y", num_epochs=1, shuffle=False
    )
    assert [labels.numpy().tolist() for _, labels in dataset] == [[0, 1], [2, 3], [4]]
    assert [list(parsed) for parsed, _ in dataset] == [["x"]] * 3
