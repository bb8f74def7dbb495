"""``tf.data.experimental``: the names that input pipelines still use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from penstock.tf import io
from penstock.tf.data.dataset import Dataset
from penstock.tf.data.node import AUTOTUNE, INFINITE, UNKNOWN, as_element
from penstock.tf.data.sources import ListNode
from penstock.tf.data.take_skip_repeat import AssertCardinalityNode
from penstock.tf.data.traced_functions import inputs_like
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.convert import as_bytes
from penstock.tf.tensors.tensor import Tensor

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "Counter",
    "TFRecordWriter",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "dense_to_ragged_batch",
    "enumerate_dataset",
    "from_list",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "load",
    "sample_from_datasets",
    "save",
    "scan",
    "take_while",
    "unbatch",
    "unique",
]

INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN


class AutoShardPolicy(IntEnum):
    """How TensorFlow shards a dataset among workers; accepted and ignored."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class TFRecordWriter:
    """Writes a dataset of strings to a file."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename, self._compression = filename, compression_type

    def write(self, dataset: Dataset) -> None:
        """Write all elements, and replace an existing file."""
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Invalid `dataset.` Expected a `tf.data.Dataset` object but got {type(dataset)}.")
        with io.TFRecordWriter(self._filename, self._compression) as writer:
            for element in dataset:
                writer.write(as_bytes(element))


def cardinality(dataset: Dataset) -> Tensor:
    """Return the number of elements; -1 is infinite, -2 unknown."""
    return dataset.cardinality()


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element."""
    return dataset.get_single_element()


def from_list(elements: list[Any], name: str | None = None) -> Dataset:
    """Return a dataset of the elements of a list."""
    if not elements:
        raise ValueError("Invalid `elements`. `elements` should not be empty.")
    made = [as_element(element) for element in elements]
    return Dataset(ListNode(made), structure=inputs_like(made[0]), explanation=("from_list: elements in memory",))


def assert_cardinality(expected_cardinality: int) -> Callable[[Dataset], Dataset]:
    """Return a function for ``Dataset.apply`` that sets the number of elements, which each iteration checks."""
    count = int(expected_cardinality)
    return lambda dataset: dataset._of_rows(AssertCardinalityNode(dataset._node, count), f"assert_cardinality({count})")


def _as_function(method: Callable[..., Dataset]) -> Callable[..., Callable[[Dataset], Dataset]]:
    """Return a function of a method's arguments that returns a function for ``Dataset.apply``."""

    @functools.wraps(method)
    def for_apply(*args: Any, **kwargs: Any) -> Callable[[Dataset], Dataset]:
        return lambda dataset: method(dataset, *args, **kwargs)

    return for_apply


bucket_by_sequence_length = _as_function(Dataset.bucket_by_sequence_length)
dense_to_ragged_batch = _as_function(Dataset.ragged_batch)
enumerate_dataset = _as_function(Dataset.enumerate)
group_by_window = _as_function(Dataset.group_by_window)
ignore_errors = _as_function(Dataset.ignore_errors)
scan = _as_function(Dataset.scan)
take_while = _as_function(Dataset.take_while)
unbatch = _as_function(Dataset.unbatch)
unique = _as_function(Dataset.unique)

Counter = Dataset.counter
choose_from_datasets = Dataset.choose_from_datasets
sample_from_datasets = Dataset.sample_from_datasets
load = Dataset.load
save = Dataset.save


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("data.experimental", name)
