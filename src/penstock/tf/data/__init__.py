"""``tf.data``: datasets of tensors, read and computed by Penstock."""

from __future__ import annotations

from typing import Any

from penstock.tf.data import experimental as experimental
from penstock.tf.data.dataset import Dataset
from penstock.tf.data.node import AUTOTUNE, INFINITE, UNKNOWN
from penstock.tf.data.options import Options, ThreadingOptions
from penstock.tf.data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.specs import DatasetSpec, NoneTensorSpec

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "NoneTensorSpec",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
]

INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("data", name)
