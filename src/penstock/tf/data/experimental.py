"""``tf.data.experimental``: what data code still takes from there."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from penstock.tf.data.dataset import Dataset
from penstock.tf.data.node import AUTOTUNE, INFINITE, UNKNOWN
from penstock.tf.fallback import attribute_of_tensorflow
from penstock.tf.tensor import Tensor

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "cardinality",
    "get_single_element",
    "ignore_errors",
    "unbatch",
]

INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN


class AutoShardPolicy(IntEnum):
    """How TensorFlow shards a data set among workers; kept, and not heeded."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


def cardinality(dataset: Dataset) -> Tensor:
    """Answer how many elements there are."""
    return dataset.cardinality()


def get_single_element(dataset: Dataset) -> Any:
    """Answer the one element that there is."""
    return dataset.get_single_element()


def ignore_errors(log_warning: bool = False) -> Callable[[Dataset], Dataset]:
    """Answer what is given to ``Dataset.apply``."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def unbatch() -> Callable[[Dataset], Dataset]:
    """Answer what is given to ``Dataset.apply``."""
    return Dataset.unbatch


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("data.experimental", name)
