"""tfx-bsl: records from TensorFlow's reader, decoded into Arrow record batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import numpy as np
import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.coders.example_coder import ExamplesToRecordBatchDecoder
from tfx_bsl.coders.sequence_example_coder import SequenceExamplesToRecordBatchDecoder
from workload_columns import BATCH, COLUMNS, Column, plain

_SEQUENCE = "##SEQUENCE##"
_TYPES = {"raw": schema_pb2.BYTES, "bytes": schema_pb2.BYTES, "float": schema_pb2.FLOAT, "int64": schema_pb2.INT}


def parse(path: str, workload: str) -> Iterator[Any]:
    decode = _decoder(workload).DecodeBatch
    for records in _records(path, workload).as_numpy_iterator():
        yield decode(records.tolist())


@cache
def _records(path: str, workload: str) -> Any:
    return tf.data.TFRecordDataset(path, buffer_size=8 << 20).batch(BATCH[workload]).prefetch(tf.data.AUTOTUNE)


@cache
def _decoder(workload: str) -> Any:
    schema = schema_pb2.Schema()
    steps = None
    for name, column in COLUMNS[workload].items():
        features = schema.feature
        if column.sequence:
            if steps is None:
                steps = schema.feature.add(name=_SEQUENCE, type=schema_pb2.STRUCT)
            features = steps.struct_domain.feature
        features.add(name=name, type=_TYPES[column.stored])
    if steps is not None:
        return SequenceExamplesToRecordBatchDecoder(_SEQUENCE, schema.SerializeToString())
    return ExamplesToRecordBatchDecoder(schema.SerializeToString())


def plain_columns(batch: Any, path: str, workload: str) -> dict[str, Iterable[Any]]:
    return {name: _plain(batch, name, column) for name, column in COLUMNS[workload].items()}


def _plain(batch: Any, name: str, column: Column) -> Iterable[Any]:
    if column.sequence:
        steps = batch.column(_SEQUENCE).field(name)
        return plain(column, steps.flatten().flatten().to_numpy(), np.diff(steps.offsets.to_numpy()))
    values = batch.column(name)
    flat = values.flatten()
    if column.stored == "raw":
        return plain(column, np.frombuffer(b"".join(flat.to_pylist()), column.dtype))
    if column.stored == "bytes":
        return plain(column, flat.to_pylist())
    lengths = np.diff(values.offsets.to_numpy()) if column.shape is None else None
    return plain(column, flat.to_numpy(), lengths)
