"""TensorFlow: batches of 256, parsed in parallel and prefetched, as its guide says."""

from __future__ import annotations

import os
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import tensorflow as tf
from process_costs import core_share, peak_memory
from tensorflow_features import parse_batch


def memory(path: str, workload: str) -> int:
    """Stream a file twice; return the process's peak of resident memory."""
    ds = _parsed(tf.data.TFRecordDataset(path), workload)
    for _ in range(2):
        for _batch in ds:
            pass
    return peak_memory()


def overhead(path: str, workload: str, steps: int, step_seconds: float) -> float:
    """Feed a device that is slower than the data; return the share of one core that this takes."""
    records = tf.data.TFRecordDataset(path).shuffle(10_000).repeat()
    return core_share(_parsed(records, workload), steps, step_seconds)


def _parsed(records: Any, workload: str) -> Any:
    parsed = records.batch(256).map(parse_batch(workload), num_parallel_calls=tf.data.AUTOTUNE)
    return parsed.prefetch(tf.data.AUTOTUNE)
