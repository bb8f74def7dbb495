"""Lets Keras take our datasets in ``fit``, ``evaluate`` and ``predict``.

Keras tells the kinds of data that it takes by their classes and has no way to add one. So the function with which it
chooses an adapter is asked about our datasets first; it is done when ``tf.keras`` is first used, or a dataset is made
where Keras is imported, and never else.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

from penstock.tf.data.dataset import Dataset
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import map_structure


def accept_datasets() -> None:
    """Make Keras take our datasets; once is enough. A Keras that is built otherwise is left as it is."""
    try:
        adapters: Any = importlib.import_module("keras.src.trainers.data_adapters")
        kind: Any = importlib.import_module("keras.src.trainers.data_adapters.data_adapter").DataAdapter
        choose: Callable[..., Any] = adapters.get_data_adapter
    except (ImportError, AttributeError):
        return
    if hasattr(choose, "__wrapped__"):
        return

    class DatasetAdapter(_Feed, kind):  # type: ignore[misc]
        """A dataset of ours, as Keras goes through data."""

    @functools.wraps(choose)
    def get_data_adapter(x: Any, *args: Any, **options: Any) -> Any:
        return DatasetAdapter(x) if isinstance(x, Dataset) else choose(x, *args, **options)

    adapters.get_data_adapter = get_data_adapter


class _Feed:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Go through batches as arrays."""
        return self._dataset.as_numpy_iterator()

    get_jax_iterator = get_numpy_iterator

    def get_tf_dataset(self) -> Any:
        """Return a dataset of TensorFlow that takes its batches from ours."""
        tensorflow: Any = importlib.import_module("tensorflow")
        signature = map_structure(lambda spec: _spec(tensorflow, spec), self._dataset.element_spec)
        return tensorflow.data.Dataset.from_generator(self._dataset.as_numpy_iterator, output_signature=signature)

    def get_torch_dataloader(self) -> Any:
        """Return a loader of torch that takes its batches from ours."""
        help_with: Any = importlib.import_module("keras.src.trainers.data_adapters.data_adapter_utils")
        return help_with.get_torch_dataloader(_Arrays(self._dataset))

    @property
    def num_batches(self) -> int | None:
        """How many batches there are, where that is known."""
        known = int(self._dataset.cardinality())
        return None if known < 0 else known

    batch_size = has_partial_batch = partial_batch_size = None


class _Arrays:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __iter__(self) -> Iterator[Any]:
        return self._dataset.as_numpy_iterator()


def _spec(tensorflow: Any, spec: Any) -> Any:
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"fit takes dense batches, found {spec!r}")
    return tensorflow.TensorSpec(spec.shape.as_list(), spec.dtype.name)
