"""``padded_batch``: elements of different sizes, filled up to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.batch_values import Rows, Stacked
from penstock.tf.convert import as_array
from penstock.tf.data.batched_rows import Join
from penstock.tf.dtypes import of_numpy
from penstock.tf.errors import DataLossError
from penstock.tf.shape import TensorShape
from penstock.tf.specs import UNKNOWN, TensorSpec, with_first
from penstock.tf.structure import leaves, map_structure
from penstock.tf.tensor import Tensor


def padded(shapes: Any, values: Any) -> Join:
    """Answer what pads the elements of a batch; None pads to the largest sizes, with zeros or empty strings."""

    def join(found: Any) -> Any:
        wanted = iter(_for_leaves(shapes, found))
        filling = iter(_for_leaves(values, found))
        return map_structure(lambda leaf: _padded(leaf, next(wanted), next(filling)), found)

    def spec(known: Any, first: int | None) -> Any:
        wanted = iter(_for_leaves(shapes, known))
        return map_structure(lambda leaf: _padded_spec(leaf, next(wanted), first), known)

    return Join(join, spec)


def _for_leaves(given: Any, found: Any) -> list[Any]:
    """Spread what was given for a structure, or for all of it, over its leaves."""
    if given is None or isinstance(found, Stacked | Rows | TensorSpec) or found is UNKNOWN:
        return [given] * sum(1 for _ in leaves(found))
    if isinstance(found, Mapping):
        items = found.items()
        if isinstance(given, Mapping):
            return [part for key, item in items for part in _for_leaves(given[key], item)]
        return [part for _, item in items for part in _for_leaves(given, item)]
    if isinstance(given, tuple) and len(given) == len(found):
        return [part for one, item in zip(given, found, strict=True) for part in _for_leaves(one, item)]
    if isinstance(given, tuple):
        raise ValueError(f"{len(given)} values are given for a structure of {len(found)}")
    return [part for item in found for part in _for_leaves(given, item)]


def _padded_spec(spec: Any, shape: Any, first: int | None) -> Any:
    if not isinstance(spec, TensorSpec):
        return UNKNOWN
    return with_first(spec if shape is None else TensorSpec(sizes_of(shape), spec.dtype), first)


def _padded(leaf: Stacked | Rows, shape: Any, value: Any) -> Tensor:
    arrays = [_array(item) for item in leaf.each()]
    rank = arrays[0].ndim
    wanted = [None] * rank if shape is None else sizes_of(shape)
    if len(wanted) != rank:
        raise ValueError(f"a shape of {len(wanted)} dimensions is given for a component of {rank}")
    largest = np.max([array.shape for array in arrays], axis=0).astype(int).tolist() if rank else []
    sizes = [most if size is None else size for size, most in zip(wanted, largest, strict=True)]
    if any(most > size for size, most in zip(sizes, largest, strict=True)):
        raise DataLossError(f"Attempted to pad to a smaller size than the input element: {largest} to {sizes}.")
    dtype = arrays[0].dtype
    joined = np.empty((len(arrays), *sizes), dtype)
    joined[...] = _filling(value, dtype)
    for row, array in enumerate(arrays):
        place: Any = (row, *map(slice, array.shape), ...)  # a string alone would else be set as an array
        joined[place] = array
    return Tensor(joined)


def _array(value: Any) -> NDArray[Any]:
    if not isinstance(value, Tensor):
        raise TypeError(f"Padded batching of {type(value).__name__} is not supported.")
    return value._array


def sizes_of(shape: Any) -> list[int | None]:
    """Answer the sizes of a shape, in any of the forms that it is given in; None for one that is open."""
    if isinstance(shape, TensorShape):
        return shape.as_list()
    given = np.asarray(shape).tolist() if isinstance(shape, Tensor | np.ndarray) else list(shape)
    return [None if size is None or size == -1 else int(size) for size in given]


def _filling(value: Any, dtype: np.dtype[Any]) -> Any:
    if value is None:
        return b"" if dtype.kind == "O" else 0
    wanted = of_numpy(dtype)
    array = as_array(value) if isinstance(value, Tensor | np.ndarray | np.generic) else as_array(value, wanted)
    if of_numpy(array.dtype) != wanted or array.ndim:
        raise TypeError(f"a padding value is a scalar of {wanted.name}, found {value!r}")
    return array[()]
