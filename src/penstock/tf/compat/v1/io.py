"""``tf.compat.v1.io``: as ``tf.io``, with the iterator over records that TensorFlow 2 dropped."""

from __future__ import annotations

from typing import Any

from penstock.tf.compat.v1.operations import find
from penstock.tf.io.records import TFRecordCompressionType as TFRecordCompressionType
from penstock.tf.io.records import tf_record_iterator as tf_record_iterator


def __getattr__(name: str) -> Any:
    return find("io", name)
