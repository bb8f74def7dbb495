"""Penstock: TFRecord without TensorFlow.

>>> import penstock as ps
>>> with ps.RecordWriter("train.tfrecord") as writer:
...     writer.write(b"a record")
>>> list(ps.RecordReader("train.tfrecord"))
[b'a record']
"""

from __future__ import annotations

from penstock._core import RecordChunk
from penstock.errors import (
    ChecksumError,
    CompressionError,
    CorruptDataError,
    MissingExtraError,
    PenstockError,
    RecordTooLargeError,
    TruncatedError,
)
from penstock.reader import RecordReader
from penstock.writer import RecordWriter

__version__ = "0.1.0"

__all__ = [
    "ChecksumError",
    "CompressionError",
    "CorruptDataError",
    "MissingExtraError",
    "PenstockError",
    "RecordChunk",
    "RecordReader",
    "RecordTooLargeError",
    "RecordWriter",
    "TruncatedError",
    "__version__",
]
