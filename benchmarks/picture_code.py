"""Pictures, as TensorFlow's data code decodes them: with TensorFlow, and with ``penstock.tf``."""

from __future__ import annotations

from typing import Any

BATCH, CROP = 64, 224


def decoded(tf: Any, path: str) -> Any:
    def decode(record: Any) -> Any:
        parsed = tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([], tf.string)})
        return tf.io.decode_jpeg(parsed["image"], channels=3)

    records = tf.data.TFRecordDataset(path, buffer_size=8 << 20)
    return records.map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH)
