"""Keras 3, on any backend: a feed that ``fit`` takes, of NumPy arrays, which it places itself."""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.columns import BytesColumn, Nullable, Ragged
from penstock.dataset.dataset import Dataset
from penstock.errors import import_extra
from penstock.frameworks.feed import Feed, PlaceElement, convert_leaves, refuse_absent

import_extra("keras", "keras", "feeding Keras")

# What Keras takes data from, whatever its kind; one that is handed to it is taken as it is. Keras has no public name
# for it (the last that was looked at is 3.15). What is public does not do: a PyDataset is asked for batches by their
# numbers, shuffled unless fit is told not to, on threads ahead of the loop; a generator has one pass; and datasets of
# TensorFlow and loaders of torch need their frameworks.
if TYPE_CHECKING:
    _DataAdapter = object
else:
    _DataAdapter = importlib.import_module("keras.src.trainers.data_adapters.data_adapter").DataAdapter

# So many batches Keras takes, at most, to know what they look like: one, and on some devices one ahead of it.
_LOOKED_AT = 2

__all__ = ["KerasFeed", "convert", "feed"]


def feed(dataset: Dataset, *, ahead: int = 2) -> KerasFeed:
    """Give out a dataset's elements as ``fit``, ``evaluate`` and ``predict`` take them: tuples or dicts of arrays.

    Args:
        dataset: Of ``(inputs, targets)``, which a ``map()`` behind ``batch()`` makes.
        ahead: How many elements lie ready.
    """
    return KerasFeed(dataset, convert, ahead=ahead)


def convert(element: Any) -> Any:
    """Convert a batch, or a dict or tuple of columns, to NumPy arrays; ragged columns are padded."""
    return convert_leaves(element, _leaf)


class KerasFeed(Feed, _DataAdapter):
    """A feed that ``fit``, ``evaluate`` and ``predict`` take as it is; each epoch is a pass.

    Keras looks at the first batches to build a model, and then asks for a new pass: that begins where the one began
    that was looked at. A pass that would go on at the very end of an epoch is the next epoch, for Keras takes none
    without batches.
    """

    _is_open = _is_looked_at = False

    def passing(self, place: PlaceElement) -> Generator[Any, None, None]:
        if self._resume is None and self._is_looked_at:
            self.load_state_dict(self.state_dict(after=0))
        is_resumed = self._resume is not None
        self._is_open, self._is_looked_at = True, False
        yield from super().passing(place)
        if is_resumed and not self._given:
            yield from super().passing(place)

    def on_epoch_end(self) -> None:
        """Hear that Keras wants no more of a pass."""
        self._is_open = False

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Return a pass."""
        return iter(self)

    get_jax_iterator = get_numpy_iterator

    def get_tf_dataset(self) -> Any:
        """Return a ``tf.data.Dataset``, each iteration of which is a pass."""
        from penstock.frameworks.tensorflow import dataset_of, element_spec_of, padded

        return dataset_of(self, padded(element_spec_of(self._dataset)), convert)

    def get_torch_dataloader(self) -> Any:
        """Return a ``DataLoader`` of torch, each iteration of which is a pass."""
        helpers: Any = importlib.import_module("keras.src.trainers.data_adapters.data_adapter_utils")
        return helpers.get_torch_dataloader(self)

    @property
    def num_batches(self) -> int | None:
        """How many elements a pass has, where that is known."""
        # That this is asked is all that tells a look at batches from an epoch: Keras says on_epoch_begin and _end
        # around both, and asks for this when it begins and again when it has looked, before it says that it wants no
        # more of them. How many they were tells a look from an epoch that was broken off.
        self._is_looked_at = self._is_open and 0 < self._given <= _LOOKED_AT
        try:
            return len(self)
        except TypeError:
            return None

    batch_size = has_partial_batch = partial_batch_size = None


def _leaf(value: Any) -> Any:
    if isinstance(value, Nullable):
        refuse_absent()
    if isinstance(value, BytesColumn):
        return value.to_numpy()
    return value.to_padded() if isinstance(value, Ragged) else np.asarray(value)
