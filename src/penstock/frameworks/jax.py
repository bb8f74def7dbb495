"""JAX: batches as arrays, placed by a sharding ahead of the training loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns import BytesColumn, Nullable, Ragged
from penstock.dataset.dataset import Dataset
from penstock.errors import import_extra
from penstock.frameworks.feed import Feed, convert_leaves, is_numeric, refuse_absent, share_of

jax = import_extra("jax", "jax", "feeding JAX")

__all__ = ["convert", "feed"]


def feed(dataset: Dataset, *, sharding: Any = None, ahead: int = 2) -> Feed:
    """Give out a dataset's elements as JAX arrays.

    Args:
        dataset: Whole: of several processes, each is given its share, unless ``shard()`` dealt it out already.
        sharding: Where arrays lie: a ``jax.sharding.Sharding`` or a device; None: the default device. Of several
            processes, the batch of each becomes its part of the global array.
        ahead: How many elements are on their way to the device while one is worked on.
    """
    share = share_of(dataset, jax.process_index(), jax.process_count())
    return Feed(share, lambda element: convert(element, sharding=sharding), ahead=ahead)


def convert(element: Any, *, sharding: Any = None) -> Any:
    """Convert a batch, or a dict or tuple of columns, to JAX arrays; ragged columns are padded, strings stay lists."""
    return convert_leaves(element, lambda value: _leaf(value, sharding))


def _leaf(value: Any, sharding: Any) -> Any:
    if isinstance(value, Nullable):
        refuse_absent()
    if isinstance(value, BytesColumn):
        return value.to_list()
    if isinstance(value, Ragged):
        padded = value.to_padded()
        return _leaf(padded, sharding) if is_numeric(padded) else value.to_list()
    if not is_numeric(value):
        return value
    array = _narrowed(np.asarray(value))
    if jax.process_count() > 1 and isinstance(sharding, jax.sharding.Sharding):
        return jax.make_array_from_process_local_data(sharding, array)
    return jax.device_put(array, sharding)


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the dtype that JAX will hold; it would wrap integers around without a word."""
    held = np.dtype(jax.dtypes.canonicalize_dtype(array.dtype))
    if held == array.dtype:
        return array
    narrow = array.astype(held)
    if array.dtype.kind in "iu" and not np.array_equal(narrow, array):
        raise OverflowError(
            f"{array.dtype} values do not fit {held}, which is what JAX holds: set jax_enable_x64, or convert them"
        )
    return narrow
