"""Penstock: TFRecord without TensorFlow.

>>> import penstock as ps
>>> with ps.RecordWriter("train.tfrecord") as writer:
...     writer.write(b"a record")
>>> list(ps.RecordReader("train.tfrecord"))
[b'a record']
"""

from __future__ import annotations

from penstock import image as image
from penstock._core import RecordChunk
from penstock.codec.decoder import Decoder
from penstock.columns import Batch, BytesColumn, Nullable, Ragged
from penstock.errors import (
    ChecksumError,
    CompressionError,
    CorruptDataError,
    MalformedExampleError,
    MissingExtraError,
    PenstockError,
    RecordTooLargeError,
    SchemaError,
    TruncatedError,
)
from penstock.infer import infer_schema
from penstock.reader import RecordReader
from penstock.schema import Feature, Schema
from penstock.schema.inference import Inferred
from penstock.writer import RecordWriter

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "BytesColumn",
    "ChecksumError",
    "CompressionError",
    "CorruptDataError",
    "Decoder",
    "Feature",
    "Inferred",
    "MalformedExampleError",
    "MissingExtraError",
    "Nullable",
    "PenstockError",
    "Ragged",
    "RecordChunk",
    "RecordReader",
    "RecordTooLargeError",
    "RecordWriter",
    "Schema",
    "SchemaError",
    "TruncatedError",
    "__version__",
    "infer_schema",
]
