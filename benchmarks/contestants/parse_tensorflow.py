"""TensorFlow: batch, then parse in parallel, as its guide says; and parse, then batch, as tutorials do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import numpy as np
import tensorflow as tf
from tensorflow_features import parse_batch, parse_one
from workload_columns import BATCH, COLUMNS, Column, plain


def best(path: str, workload: str) -> Iterator[dict[str, Any]]:
    return map(_as_numpy, _best(path, workload, None))


def best_label(path: str, workload: str) -> Iterator[dict[str, Any]]:
    return map(_as_numpy, _best(path, workload, ("label",)))


def tutorial(path: str, workload: str) -> Iterator[dict[str, Any]]:
    return map(_as_numpy, _tutorial(path, workload))


def _as_numpy(batch: dict[str, Any]) -> dict[str, Any]:
    """Arrays; of ragged tensors values and row splits, for as_numpy_iterator would make an object of every row."""
    return {
        name: (tensor.flat_values.numpy(), tensor.row_splits.numpy())
        if isinstance(tensor, tf.RaggedTensor)
        else tensor.numpy()
        for name, tensor in batch.items()
    }


# The graphs are built once, in the check, which is not timed.
@cache
def _best(path: str, workload: str, names: tuple[str, ...] | None) -> Any:
    records = tf.data.TFRecordDataset(path, buffer_size=8 << 20).batch(BATCH[workload])
    return records.map(parse_batch(workload, names), num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


@cache
def _tutorial(path: str, workload: str) -> Any:
    examples = tf.data.TFRecordDataset(path).map(parse_one(workload))
    if any(column.shape is None for column in COLUMNS[workload].values()):
        return examples.ragged_batch(BATCH[workload])
    return examples.batch(BATCH[workload])


def plain_columns(batch: dict[str, Any], path: str, workload: str) -> dict[str, Iterable[Any]]:
    return {name: plain(COLUMNS[workload][name], *_parts(batch[name], COLUMNS[workload][name])) for name in batch}


def _parts(values: Any, column: Column) -> tuple[Any, Any]:
    if isinstance(values, tuple):
        return values[0], np.diff(values[1])
    return values, np.full(len(values), values.shape[1]) if column.sequence else None
