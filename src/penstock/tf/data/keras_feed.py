"""Makes Keras accept our datasets in ``fit``, ``evaluate`` and ``predict``.

Keras chooses an adapter by the class of the data, and has no way to add one. So the function that chooses it is
wrapped: when ``tf.keras`` is first used, or when a dataset is made after Keras was imported.
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
    """Make Keras accept our datasets. It is done once, and not where Keras has another internal structure."""
    try:
        adapters: Any = importlib.import_module("keras.src.trainers.data_adapters")
        kind: Any = importlib.import_module("keras.src.trainers.data_adapters.data_adapter").DataAdapter
        choose: Callable[..., Any] = adapters.get_data_adapter
    except (ImportError, AttributeError):
        return
    if hasattr(choose, "__wrapped__"):
        return

    class DatasetAdapter(_AdapterMethods, kind):  # type: ignore[misc]
        """Reads one of our datasets for Keras."""

    @functools.wraps(choose)
    def get_data_adapter(x: Any, *args: Any, **options: Any) -> Any:
        return DatasetAdapter(x) if isinstance(x, Dataset) else choose(x, *args, **options)

    adapters.get_data_adapter = get_data_adapter


class _AdapterMethods:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Return an iterator over batches as arrays."""
        return self._dataset.as_numpy_iterator()

    get_jax_iterator = get_numpy_iterator

    def get_tf_dataset(self) -> Any:
        """Return a TensorFlow dataset of the batches."""
        tensorflow: Any = importlib.import_module("tensorflow")
        signature = map_structure(lambda spec: _spec(tensorflow, spec), self._dataset.element_spec)
        return tensorflow.data.Dataset.from_generator(self._dataset.as_numpy_iterator, output_signature=signature)

    def get_torch_dataloader(self) -> Any:
        """Return a PyTorch data loader of the batches."""
        adapter_utils: Any = importlib.import_module("keras.src.trainers.data_adapters.data_adapter_utils")
        return adapter_utils.get_torch_dataloader(_NumpyBatches(self._dataset))

    @property
    def num_batches(self) -> int | None:
        """The number of batches, or None where it is not known."""
        known = int(self._dataset.cardinality())
        return None if known < 0 else known

    batch_size = has_partial_batch = partial_batch_size = None


class _NumpyBatches:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __iter__(self) -> Iterator[Any]:
        return self._dataset.as_numpy_iterator()


def _spec(tensorflow: Any, spec: Any) -> Any:
    if not isinstance(spec, TensorSpec):
        raise TypeError(
            f"Keras expects dense batches, found {spec!r}: convert them in map(), with to_tensor() or to_dense()"
        )
    return tensorflow.TensorSpec(spec.shape.as_list(), spec.dtype.name)
