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
