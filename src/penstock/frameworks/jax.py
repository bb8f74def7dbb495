"""JAX: prefetch batches as arrays, placed by a sharding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns import BytesColumn, Nullable, Ragged
from penstock.dataset.dataset import Dataset
from penstock.errors import import_extra
from penstock.frameworks.feed import Feed, convert_leaves, is_numeric, raise_absent, shard_for_process

jax = import_extra("jax", "jax", "feeding JAX")

__all__ = ["convert", "feed"]


def feed(dataset: Dataset, *, sharding: Any = None, ahead: int = 2) -> Feed:
    """Iterate over a dataset as JAX arrays.

    Args:
        dataset: The whole dataset. With several processes, each reads its shard, unless ``shard()`` was called.
        sharding: Where to place arrays: a ``jax.sharding.Sharding`` or a device; None for the default device. With
            several processes, the batch of each becomes its part of the global array.
        ahead: How many elements to prefetch to the device.
    """
    shard = shard_for_process(dataset, jax.process_index(), jax.process_count())
    return Feed(shard, lambda element: convert(element, sharding=sharding), ahead=ahead)


def convert(element: Any, *, sharding: Any = None) -> Any:
    """Convert a batch, or a dict or tuple of columns, to JAX arrays; ragged columns are padded, strings are lists."""
    return convert_leaves(element, lambda value: _leaf(value, sharding))


def _leaf(value: Any, sharding: Any) -> Any:
    if isinstance(value, Nullable):
        raise_absent()
    if isinstance(value, BytesColumn):
        return value.to_list()
    if isinstance(value, Ragged):
        padded = value.to_padded()
        return _leaf(padded, sharding) if is_numeric(padded) else value.to_list()
    if not is_numeric(value):
        return value
    array = _narrow(np.asarray(value))
    if jax.process_count() > 1 and isinstance(sharding, jax.sharding.Sharding):
        return jax.make_array_from_process_local_data(sharding, array)
    return jax.device_put(array, sharding)


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Cast an array to the dtype that JAX uses, and raise on overflow, which JAX would ignore."""
    dtype = np.dtype(jax.dtypes.canonicalize_dtype(array.dtype))
    if dtype == array.dtype:
        return array
    narrow = array.astype(dtype)
    if array.dtype.kind in "iu" and not np.array_equal(narrow, array):
        raise OverflowError(
            f"{array.dtype} values do not fit {dtype}, which JAX uses instead: set jax_enable_x64, or convert them"
        )
    return narrow
