"""Datasets of TensorFlow Datasets, without TensorFlow: written, and opened by code that was written for TFDS.

``ps.Dataset`` opens a folder that TFDS wrote, too, with flat columns and all that a dataset of Penstock can do.

>>> import penstock as ps
>>> parts = ps.tfds.even_splits("train", 3)
>>> ps.Dataset("bridge/1.0.0", split=parts[0])  # doctest: +SKIP
"""

from __future__ import annotations

from penstock.discovery.split_slices import ReadInstruction, even_splits
from penstock.tfds.builder import Builder, as_numpy, builder_from_directory, data_source, load
from penstock.writing.write_tfds import write_tfds as write

__all__ = [
    "Builder",
    "ReadInstruction",
    "as_numpy",
    "builder_from_directory",
    "data_source",
    "even_splits",
    "load",
    "write",
]
