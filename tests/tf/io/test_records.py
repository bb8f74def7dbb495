"""Records are written and read in TensorFlow's format."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
import penstock.tf as tf


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_records_are_written_and_read(tmp_path: Path, compression: str | None):
    path = tmp_path / "file.tfrecord"
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression)) as writer:
        writer.write(b"one")
        writer.write("zwei")
    options = tf.compat.v1.io.TFRecordOptions(compression)
    assert list(tf.compat.v1.io.tf_record_iterator(str(path), options)) == [b"one", b"zwei"]


def test_a_writer_keeps_what_was_written_before_an_error(tmp_path: Path):
    path = tmp_path / "file.tfrecord"
    with pytest.raises(RuntimeError), tf.io.TFRecordWriter(path) as writer:
        writer.write(b"one")
        raise RuntimeError
    assert list(ps.RecordReader(path)) == [b"one"]


def test_a_closed_writer_raises(tmp_path: Path):
    writer = tf.io.TFRecordWriter(str(tmp_path / "file"))
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError):
        writer.write(b"x")
    with pytest.raises(TypeError):
        tf.io.TFRecordWriter(str(tmp_path / "other")).write(5)


def test_a_writer_that_is_never_closed_leaves_a_complete_file(tmp_path: Path):
    path = tmp_path / "file"
    tf.io.TFRecordWriter(str(path), "GZIP").write(b"one")
    assert list(ps.RecordReader(path)) == [b"one"]
