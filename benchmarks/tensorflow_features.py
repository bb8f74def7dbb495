"""The workloads' columns as tf.io feature descriptions, for TensorFlow and what builds on it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from workload_columns import COLUMNS

_DTYPES = {"raw": tf.string, "bytes": tf.string, "float": tf.float32, "int64": tf.int64}


def description(workload: str, names: tuple[str, ...] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Features of the context, and of the sequence."""
    context: dict[str, Any] = {}
    sequence: dict[str, Any] = {}
    for name, column in COLUMNS[workload].items():
        if names is not None and name not in names:
            continue
        dtype = _DTYPES[column.stored]
        if column.sequence:
            sequence[name] = tf.io.FixedLenSequenceFeature(column.shape, dtype)
        elif column.shape is None:
            context[name] = tf.io.RaggedFeature(dtype, row_splits_dtype=tf.int64)
        else:
            context[name] = tf.io.FixedLenFeature([] if column.stored == "raw" else column.shape, dtype)
    return context, sequence


def parse_batch(workload: str, names: tuple[str, ...] | None = None) -> Any:
    """The function of a batch of records that parses them and gives raw arrays their shape."""
    context, sequence = description(workload, names)

    def parse(records: Any) -> dict[str, Any]:
        if sequence:
            found, steps, _ = tf.io.parse_sequence_example(records, context, sequence)
            return {**found, **steps}
        return _with_shapes(workload, tf.io.parse_example(records, context), batched=True)

    return parse


def parse_one(workload: str) -> Any:
    """The function of one record that does the same."""
    context, sequence = description(workload)

    def parse(record: Any) -> dict[str, Any]:
        if sequence:
            found, steps = tf.io.parse_single_sequence_example(record, context, sequence)
            return {**found, **steps}
        return _with_shapes(workload, tf.io.parse_single_example(record, context), batched=False)

    return parse


def _with_shapes(workload: str, features: dict[str, Any], *, batched: bool) -> dict[str, Any]:
    for name, column in COLUMNS[workload].items():
        if column.stored == "raw" and name in features:
            flat = tf.io.decode_raw(features[name], getattr(tf, column.dtype))
            features[name] = tf.reshape(flat, [-1, *column.shape] if batched else column.shape)
    return features
