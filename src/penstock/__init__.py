"""Penstock: TFRecord without TensorFlow.

>>> import penstock as ps
>>> ps.write("data/train", {"image": images, "label": labels}, shards=8)
>>> ds = ps.Dataset("data/train")
>>> for batch in ds.shuffle(seed=7).batch(256):
...     train(batch["image"], batch["label"])

=========================================  ====================================================================
``write``, ``Writer``, ``commit``          data to shards, with a manifest
``Dataset``                                shards to examples and batches: any order, random access, resume
``Schema``, ``Feature``, ``infer_schema``  what records hold
``Batch``, ``Ragged``, ``BytesColumn``,    columns, which NumPy, Arrow and frameworks use as they lie
``Nullable``
``Decoder``, ``Encoder``                   records to columns, and back
``ImageTransform``                         decode, crop, resize, flip and normalize pictures in one step
``RecordReader``, ``RecordWriter``         records as bytes
``verify``, ``repair``                     what is wrong with files, and what can be saved
``count``, ``stats``, ``diff``,            the commands as functions, which return reports
``convert``
``sql``, ``scan``                          queries: DuckDB's SQL, and lazy frames of Polars
``penstock.frameworks``                    batches for torch, JAX, TensorFlow and Keras
``penstock.tf``                            TensorFlow's data code, without TensorFlow
``tfds``                                   folders of TensorFlow Datasets: splits
``rlds``                                   episodes of robots, step by step
=========================================  ====================================================================

Names are imported from their modules when they are first used, so that importing the package costs nothing that is not
needed.
"""

from __future__ import annotations

import atexit
import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock import image as image
    from penstock import rlds as rlds
    from penstock import tfds as tfds
    from penstock._core import RecordChunk as RecordChunk
    from penstock.codec.decoder import Decoder as Decoder
    from penstock.codec.encoder import Encoder as Encoder
    from penstock.codec.image_transform import ImageTransform as ImageTransform
    from penstock.columns import Batch as Batch
    from penstock.columns import BytesColumn as BytesColumn
    from penstock.columns import Nullable as Nullable
    from penstock.columns import Ragged as Ragged
    from penstock.conversion.convert import ConvertReport as ConvertReport
    from penstock.conversion.convert import convert as convert
    from penstock.dataset.dataset import Dataset as Dataset
    from penstock.dataset.iterator import DatasetIterator as DatasetIterator
    from penstock.dataset.transforms.batch import Pad as Pad
    from penstock.discovery.infer import infer_schema as infer_schema
    from penstock.engines.polars import scan as scan
    from penstock.engines.sql import sql as sql
    from penstock.errors import ChecksumError as ChecksumError
    from penstock.errors import CompressionError as CompressionError
    from penstock.errors import CorruptDataError as CorruptDataError
    from penstock.errors import ExpressionError as ExpressionError
    from penstock.errors import IndexFileError as IndexFileError
    from penstock.errors import MalformedExampleError as MalformedExampleError
    from penstock.errors import ManifestError as ManifestError
    from penstock.errors import MissingExtraError as MissingExtraError
    from penstock.errors import NotSeekableError as NotSeekableError
    from penstock.errors import PenstockError as PenstockError
    from penstock.errors import RecordTooLargeError as RecordTooLargeError
    from penstock.errors import SchemaError as SchemaError
    from penstock.errors import StaleIndexError as StaleIndexError
    from penstock.errors import StateError as StateError
    from penstock.errors import TruncatedError as TruncatedError
    from penstock.errors import WorkerError as WorkerError
    from penstock.inspect.count import CountReport as CountReport
    from penstock.inspect.count import count as count
    from penstock.inspect.diff import diff as diff
    from penstock.inspect.diff_report import DiffReport as DiffReport
    from penstock.inspect.stats import StatsReport as StatsReport
    from penstock.inspect.stats import stats as stats
    from penstock.integrity.problems import Problem as Problem
    from penstock.integrity.repair import RepairReport as RepairReport
    from penstock.integrity.repair import repair as repair
    from penstock.integrity.repair import repair_dataset as repair_dataset
    from penstock.integrity.verify import VerifyReport as VerifyReport
    from penstock.integrity.verify import verify as verify
    from penstock.manifest import Manifest as Manifest
    from penstock.records.reader import RecordReader as RecordReader
    from penstock.records.writer import RecordWriter as RecordWriter
    from penstock.schema import Feature as Feature
    from penstock.schema import Schema as Schema
    from penstock.schema.inference import Inferred as Inferred
    from penstock.writing.commit import abort as abort
    from penstock.writing.commit import commit as commit
    from penstock.writing.write import append as append
    from penstock.writing.write import write as write
    from penstock.writing.writer import Writer as Writer


__version__ = "0.1.0"

# Where each name lives. The imports above say the same to type checkers; a test compares them.
_HOMES = {
    "Batch": "columns",
    "BytesColumn": "columns",
    "ChecksumError": "errors",
    "CompressionError": "errors",
    "ConvertReport": "conversion.convert",
    "CorruptDataError": "errors",
    "CountReport": "inspect.count",
    "Dataset": "dataset.dataset",
    "DatasetIterator": "dataset.iterator",
    "Decoder": "codec.decoder",
    "DiffReport": "inspect.diff_report",
    "Encoder": "codec.encoder",
    "ExpressionError": "errors",
    "Feature": "schema",
    "ImageTransform": "codec.image_transform",
    "IndexFileError": "errors",
    "Inferred": "schema.inference",
    "MalformedExampleError": "errors",
    "Manifest": "manifest",
    "ManifestError": "errors",
    "MissingExtraError": "errors",
    "NotSeekableError": "errors",
    "Nullable": "columns",
    "Pad": "dataset.transforms.batch",
    "PenstockError": "errors",
    "Problem": "integrity.problems",
    "Ragged": "columns",
    "RecordChunk": "_core",
    "RecordReader": "records.reader",
    "RecordTooLargeError": "errors",
    "RecordWriter": "records.writer",
    "RepairReport": "integrity.repair",
    "Schema": "schema",
    "SchemaError": "errors",
    "StaleIndexError": "errors",
    "StateError": "errors",
    "StatsReport": "inspect.stats",
    "TruncatedError": "errors",
    "VerifyReport": "integrity.verify",
    "WorkerError": "errors",
    "Writer": "writing.writer",
    "abort": "writing.commit",
    "append": "writing.write",
    "commit": "writing.commit",
    "convert": "conversion.convert",
    "count": "inspect.count",
    "diff": "inspect.diff",
    "image": "",
    "infer_schema": "discovery.infer",
    "repair": "integrity.repair",
    "repair_dataset": "integrity.repair",
    "rlds": "",
    "scan": "engines.polars",
    "sql": "engines.sql",
    "stats": "inspect.stats",
    "tfds": "",
    "verify": "integrity.verify",
    "write": "writing.write",
}

__all__ = ["__version__", *_HOMES]


if not TYPE_CHECKING:  # else type checkers would take every misspelt name for one that is there

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            message = f"module 'penstock' has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[__name__])  # Python suggests what was meant
        if not _HOMES[name]:
            return importlib.import_module(f"penstock.{name}")
        value = getattr(importlib.import_module(f"penstock.{_HOMES[name]}"), name)
        globals()[name] = value  # so that this is asked once
        return value


def __dir__() -> list[str]:
    return sorted(__all__)


@atexit.register
def _end() -> None:
    """Notify native code that the interpreter ends: no thread comes back from it any more.

    Registered before all that users of the package register, so that what they end threads with has been called.
    """
    if core := sys.modules.get("penstock._core"):
        core.begin_finalization()
