"""``tf.python_io``: records, as TensorFlow 1 named them."""

from __future__ import annotations

from penstock.tf.io.records import TFRecordCompressionType as TFRecordCompressionType
from penstock.tf.io.records import TFRecordOptions as TFRecordOptions
from penstock.tf.io.records import TFRecordWriter as TFRecordWriter
from penstock.tf.io.records import tf_record_iterator as tf_record_iterator
