"""Datasets of TensorFlow Datasets, without TensorFlow.

``ps.Dataset`` opens a folder that TFDS wrote. Here is what else TFDS has: its splits as objects.

>>> import penstock as ps
>>> parts = ps.tfds.even_splits("train", 3)
>>> ps.Dataset("bridge/1.0.0", split=parts[0])  # doctest: +SKIP
"""

from __future__ import annotations

from penstock.discovery.split_slices import ReadInstruction, even_splits

__all__ = ["ReadInstruction", "even_splits"]
