"""TensorFlow: a tf.train.Example per row, written one by one."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import tensorflow as tf
from workload_columns import COLUMNS, Column, load_rows

Feature = tf.train.Feature


def write_rows(source: str, workload: str, rows: int, output: str) -> None:
    make = _maker(workload)
    with tf.io.TFRecordWriter(output) as writer:
        for row in _rows(source, workload, rows):
            writer.write(make(row).SerializeToString())


@cache
def _rows(source: str, workload: str, rows: int) -> list[dict[str, Any]]:
    """In memory since the check, which is not timed."""
    return load_rows(source, workload, rows)


def _maker(workload: str) -> Callable[[dict[str, Any]], Any]:
    context = {name: _feature(column) for name, column in COLUMNS[workload].items() if not column.sequence}
    sequence = {name: _feature(column) for name, column in COLUMNS[workload].items() if column.sequence}

    def features(row: dict[str, Any]) -> Any:
        return tf.train.Features(feature={name: make(row[name]) for name, make in context.items()})

    def make_example(row: dict[str, Any]) -> Any:
        return tf.train.Example(features=features(row))

    def make_sequence(row: dict[str, Any]) -> Any:
        lists = {name: tf.train.FeatureList(feature=map(make, row[name])) for name, make in sequence.items()}
        return tf.train.SequenceExample(context=features(row), feature_lists=tf.train.FeatureLists(feature_list=lists))

    return make_sequence if sequence else make_example


def _feature(column: Column) -> Callable[[Any], Any]:
    """The helper functions that everybody copies from the tutorial."""
    if column.stored == "raw":
        return lambda value: Feature(bytes_list=tf.train.BytesList(value=[value.tobytes()]))
    if column.stored == "bytes":
        return lambda value: Feature(bytes_list=tf.train.BytesList(value=[value]))
    scalar = column.shape == ()
    if column.stored == "float":
        return lambda value: Feature(float_list=tf.train.FloatList(value=[value] if scalar else value))
    return lambda value: Feature(int64_list=tf.train.Int64List(value=[value] if scalar else value))
