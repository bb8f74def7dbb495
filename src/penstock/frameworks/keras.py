"""Keras 3, on any backend: a feed of NumPy arrays for ``fit``; Keras places them on the device."""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.columns import BytesColumn, Nullable, Ragged
from penstock.dataset.dataset import Dataset
from penstock.errors import import_extra
from penstock.frameworks.feed import Feed, PlaceElement, convert_leaves, raise_absent

import_extra("keras", "keras", "feeding Keras")

# The class that Keras wraps all data in; an instance is used unchanged. It has no public name (as of Keras 3.15). The
# public alternatives do not work here: Keras prefetches a PyDataset by index, shuffled by default; a generator lasts
# for one epoch; and tf.data datasets and torch loaders need their frameworks.
if TYPE_CHECKING:
    _DataAdapter = object
else:
    _DataAdapter = importlib.import_module("keras.src.trainers.data_adapters.data_adapter").DataAdapter

# Keras takes at most this many batches to build a model: one, and on some devices one more as prefetch.
_MAX_PEEKED = 2

__all__ = ["KerasFeed", "convert", "feed"]


def feed(dataset: Dataset, *, ahead: int = 2) -> KerasFeed:
    """Iterate over a dataset as tuples or dicts of arrays, for ``fit``, ``evaluate`` and ``predict``.

    Args:
        dataset: Its elements are ``(inputs, targets)``: use a ``map()`` after ``batch()``.
        ahead: How many elements to prefetch.
    """
    return KerasFeed(dataset, convert, ahead=ahead)


def convert(element: Any) -> Any:
    """Convert a batch, or a dict or tuple of columns, to NumPy arrays; ragged columns are padded."""
    return convert_leaves(element, _leaf)


class KerasFeed(Feed, _DataAdapter):
    """A feed for ``fit``, ``evaluate`` and ``predict``; each of their epochs is one epoch of the dataset.

    Keras peeks at the first batches to build a model, then starts a new iteration, which must return them again. An
    iteration that would resume at the very end of an epoch continues with the next one, because Keras accepts no epoch
    without batches.
    """

    _is_open = _has_peeked = False

    def iterate(self, place: PlaceElement) -> Generator[Any, None, None]:
        if self._resume is None and self._has_peeked:
            self.load_state_dict(self.state_dict(after=0))
        is_resumed = self._resume is not None
        self._is_open, self._has_peeked = True, False
        yield from super().iterate(place)
        if is_resumed and not self._yielded:
            yield from super().iterate(place)

    def on_epoch_end(self) -> None:
        """Note that Keras stopped iterating."""
        self._is_open = False

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Return an iterator over one epoch."""
        return iter(self)

    get_jax_iterator = get_numpy_iterator

    def get_tf_dataset(self) -> Any:
        """Return a ``tf.data.Dataset``; each iteration is one epoch."""
        from penstock.frameworks.tensorflow import dataset_of, element_spec_of, padded

        return dataset_of(self, padded(element_spec_of(self._dataset)), convert)

    def get_torch_dataloader(self) -> Any:
        """Return a torch ``DataLoader``; each iteration is one epoch."""
        helpers: Any = importlib.import_module("keras.src.trainers.data_adapters.data_adapter_utils")
        return helpers.get_torch_dataloader(self)

    @property
    def num_batches(self) -> int | None:
        """The number of elements of an epoch, or None if unknown."""
        # Only this property distinguishes peeking from an epoch: Keras calls on_epoch_begin and on_epoch_end around
        # both, but reads this one when it starts and again after peeking, before on_epoch_end. The number of batches
        # distinguishes peeking from an interrupted epoch.
        self._has_peeked = self._is_open and 0 < self._yielded <= _MAX_PEEKED
        try:
            return len(self)
        except TypeError:
            return None

    batch_size = has_partial_batch = partial_batch_size = None


def _leaf(value: Any) -> Any:
    if isinstance(value, Nullable):
        raise_absent()
    if isinstance(value, BytesColumn):
        return value.to_numpy()
    return value.to_padded() if isinstance(value, Ragged) else np.asarray(value)
