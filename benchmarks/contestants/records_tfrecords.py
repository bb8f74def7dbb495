"""The package tfrecords: TensorFlow's record reader without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from tfrecords.python.io.tf_record import tf_record_iterator


def iterate(path: str) -> Iterator[bytes]:
    return tf_record_iterator(path)


def count(path: str) -> int:
    return tf_record_iterator(path).read_count()
