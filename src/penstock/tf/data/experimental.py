"""``tf.data.experimental``: the names that input pipelines still use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from penstock.tf import io
from penstock.tf.data.dataset import Dataset
from penstock.tf.data.node import AUTOTUNE, INFINITE, UNKNOWN, as_element, wrap_user_function
from penstock.tf.data.readers import make_batched_features_dataset
from penstock.tf.data.rebatch_resample import GroupByReducerNode, Reducer
from penstock.tf.data.sources import ListNode
from penstock.tf.data.take_skip_repeat import AssertCardinalityNode
from penstock.tf.data.traced_functions import inputs_like
from penstock.tf.errors import OutOfRangeError
from penstock.tf.ops.creation import zeros
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.convert import as_array, as_bytes
from penstock.tf.tensors.dtypes import string
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import map_structure
from penstock.tf.tensors.tensor import Tensor

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "Counter",
    "Reducer",
    "TFRecordWriter",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_list",
    "get_single_element",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_batched_features_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
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


def at(dataset: Dataset, index: Any) -> Any:
    """Return an element by its number, without the elements before it."""
    node, number = dataset._elements(), int(as_array(index))
    if number < 0 or 0 <= node.cardinality <= number:
        raise OutOfRangeError(f"Index out of range: {number} of {node.cardinality} elements")
    return node.row_at(number)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Callable[[Dataset], Dataset]:
    """Return ``map`` followed by ``batch`` as a function for ``Dataset.apply``."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to be set")
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder=drop_remainder)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Callable[[Dataset], Dataset]:
    """Return ``shuffle`` followed by ``repeat`` as a function for ``Dataset.apply``."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Callable[[Dataset], Dataset]:
    """Return ``interleave``, in order whatever ``sloppy`` is, as a function for ``Dataset.apply``."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def parse_example_dataset(
    features: dict[str, Any], num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Callable[[Dataset], Dataset]:
    """Return a function for ``Dataset.apply`` that parses vectors of Examples."""
    if not features:
        raise ValueError("Missing: `features` was `None` or empty.")
    io.parse_example(Tensor(np.zeros(0, object)), features)  # which checks the features

    def parse(dataset: Dataset) -> Dataset:
        spec = dataset._elements().spec()
        if isinstance(spec, TensorSpec) and (spec.dtype != string or spec.shape.rank not in (None, 1)):
            raise TypeError(f"Input dataset should be a dataset of vectors of strings, found {spec}")
        return dataset.map(lambda serialized: io.parse_example(serialized, features))

    return parse


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Callable[[Dataset], Dataset]:
    """Return a function for ``Dataset.apply`` that appends zeros; the component ``mask_key`` is False for these."""

    def pad(dataset: Dataset) -> Dataset:
        known, spec = int(dataset.cardinality()), dataset.element_spec
        if known < 0:
            raise ValueError(
                "The dataset passed into `pad_to_cardinality` must have a known cardinalty, but has cardinality "
                f"{known}"
            )
        if known > cardinality:
            raise ValueError(
                "The dataset passed into `pad_to_cardinality` must have a cardinalty less than the target cardinality "
                f"({cardinality}), but has cardinality {known}"
            )
        if not isinstance(spec, dict):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary")
        padding = Dataset.from_tensors(map_structure(lambda one: zeros(one.shape, one.dtype), spec))
        marked = (
            part.map(partial(_with_mask, mask_key, valid))
            for part, valid in ((dataset, True), (padding.repeat(cardinality - known), False))
        )
        return next(marked).concatenate(next(marked))

    return pad


def _with_mask(mask_key: str, valid: bool, element: dict[str, Any]) -> dict[str, Any]:
    return {**element, mask_key: valid}


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Callable[[Dataset], Dataset]:
    """Return a function for ``Dataset.apply`` that reduces the elements of each key to one."""

    def group(dataset: Dataset) -> Dataset:
        node = GroupByReducerNode(dataset._elements(), wrap_user_function(key_func), reducer)
        return dataset._of_elements(node, "group_by_reducer: for each element", structure=None)

    return group


def _as_function(method: Callable[..., Dataset]) -> Callable[..., Callable[[Dataset], Dataset]]:
    """Return a function of a method's arguments that returns a function for ``Dataset.apply``."""

    @functools.wraps(method)
    def for_apply(*args: Any, **kwargs: Any) -> Callable[[Dataset], Dataset]:
        return lambda dataset: method(dataset, *args, **kwargs)

    return for_apply


bucket_by_sequence_length = _as_function(Dataset.bucket_by_sequence_length)
dense_to_ragged_batch = _as_function(Dataset.ragged_batch)
dense_to_sparse_batch = _as_function(Dataset.sparse_batch)
enumerate_dataset = _as_function(Dataset.enumerate)
group_by_window = _as_function(Dataset.group_by_window)
ignore_errors = _as_function(Dataset.ignore_errors)
rejection_resample = _as_function(Dataset.rejection_resample)
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
