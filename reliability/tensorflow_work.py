"""What TensorFlow's writer is killed at; its environment runs it, without Penstock."""

from __future__ import annotations

import os
import random

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import tensorflow as tf

from reliability.payloads import NAME, ROWS, record


def _write(folder: str, report, seed: int, compression: str) -> None:
    rng = random.Random(seed)
    with tf.io.TFRecordWriter(f"{folder}/{NAME}", compression or None) as writer:
        for number in range(ROWS):
            writer.write(record(seed, number))
            if rng.random() < 0.2:
                writer.flush()
                report(safe=number + 1)


def write(folder: str, report, seed: int) -> None:
    _write(folder, report, seed, "")


def write_gzip(folder: str, report, seed: int) -> None:
    _write(folder, report, seed, "GZIP")
