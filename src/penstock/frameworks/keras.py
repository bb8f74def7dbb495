"""Keras 3, on any backend: batches as NumPy arrays, which ``fit`` takes and places itself.

``fit`` takes ``iter(feed)`` of any of the feeds: this one, or that of the framework that Keras runs on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.columns import BytesColumn, Nullable, Ragged
from penstock.dataset.dataset import Dataset
from penstock.errors import import_extra
from penstock.frameworks.elements import convert_leaves, refuse_absent
from penstock.frameworks.feed import Feed

import_extra("keras", "keras", "feeding Keras")

__all__ = ["convert", "feed"]


def feed(dataset: Dataset, *, ahead: int = 2) -> Feed:
    """Give out a data set's elements as ``fit``, ``evaluate`` and ``predict`` take them: tuples or dicts of arrays.

    Args:
        dataset: Of ``(inputs, targets)``, which a ``map()`` behind ``batch()`` makes.
        ahead: How many elements lie ready.
    """
    return Feed(dataset, convert, ahead=ahead)


def convert(element: Any) -> Any:
    """Convert a batch, or a dict or tuple of columns, to NumPy arrays; ragged columns are padded."""
    return convert_leaves(element, _leaf)


def _leaf(value: Any) -> Any:
    if isinstance(value, Nullable):
        refuse_absent()
    if isinstance(value, BytesColumn):
        return value.to_numpy()
    return value.to_padded() if isinstance(value, Ragged) else np.asarray(value)
