"""tf.data: episodes parsed whole and cut into steps, in batches of 64; shuffled within a buffer of 1,000 steps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import numpy as np
import tensorflow as tf
from robot_data import CAMERAS, files

_BUFFER = 1_000


def steps(folder: str, shuffled: bool, decode: bool) -> int:
    """Iterate all steps once; return how many there are."""
    ds = _steps(folder)
    ds = ds.shuffle(_BUFFER, seed=7) if shuffled else ds
    if decode:
        ds = ds.map(_decoded, num_parallel_calls=tf.data.AUTOTUNE)
    batches = ds.batch(64).prefetch(tf.data.AUTOTUNE)
    return sum(len(batch["action"]) for batch in batches)


def statistics(folder: str) -> list[float]:
    """Return the means of the actions, with all statistics of all numbers computed, as robot learning code does."""
    found: dict[str, list[Any]] = {"action": [], "observation/state": []}
    for episode in _episodes(folder, list(found)):
        for name, parts in found.items():
            parts.append(episode[name].numpy())
    means = {}
    for name, parts in found.items():
        values = np.concatenate(parts)
        means[name] = values.mean(0)
        (
            values.std(0),
            values.min(0),
            values.max(0),
            np.quantile(values, 0.01, axis=0),
            np.quantile(values, 0.99, axis=0),
        )
    return np.round(means["action"].astype(np.float64), 3).tolist()


def _steps(folder: str) -> Any:
    names = [*CAMERAS, "observation/state", "action", "language_instruction"]
    return _episodes(folder, names).flat_map(tf.data.Dataset.from_tensor_slices)


def _episodes(folder: str, names: list[str]) -> Any:
    sizes = {"observation/state": 8, "action": 7}
    features = {
        f"steps/{name}": tf.io.FixedLenSequenceFeature([sizes[name]], tf.float32, allow_missing=True)
        if name in sizes
        else tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)
        for name in names
    }

    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(record, features)
        return {name: found[f"steps/{name}"] for name in names}

    return tf.data.TFRecordDataset(files(Path(folder))).map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def _decoded(step: Any) -> Any:
    return step | {camera: tf.io.decode_jpeg(step[camera], channels=3) for camera in CAMERAS}
