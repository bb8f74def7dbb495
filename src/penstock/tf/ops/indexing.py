"""Operations on the form of tensors: reshaping, joining, picking."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops.elementwise import pair
from penstock.tf.registry import operation
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import bool as tf_bool
from penstock.tf.tensors.tensor import Tensor


@operation("where")
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Pick from ``x`` where the condition holds, else from ``y``; without them, answer where it holds."""
    mask = as_array(condition)
    if x is None and y is None:
        if not mask.ndim:
            raise InvalidArgumentError("tf.where without x and y takes a condition of one dimension or more")
        return Tensor(np.argwhere(mask.astype(np.bool_)).astype(np.int64))
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    a, b = pair(x, y)
    try:
        return Tensor(np.asarray(np.where(as_array(mask, tf_bool), a, b)))
    except ValueError as error:
        raise InvalidArgumentError(f"shapes {mask.shape}, {a.shape}, {b.shape} do not broadcast") from error


@operation("gather")
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Pick elements by number along a dimension."""
    array, picked = as_array(params), as_array(indices)
    place = int(axis or 0)
    if batch_dims:
        raise ValueError("batch_dims is not supported here: loop over the batch, or reshape")
    length = array.shape[place]
    if ((picked < 0) | (picked >= length)).any():
        raise InvalidArgumentError(f"indices are not in [0, {length})")
    return Tensor(np.asarray(np.take(array, picked, place), array.dtype))


@operation("boolean_mask")
def boolean_mask(tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask") -> Tensor:
    """Pick the elements that a mask marks."""
    array, marked = as_array(tensor), as_array(mask)
    place = axis or 0
    if not marked.ndim:
        raise ValueError("mask cannot be scalar.")
    if array.shape[place : place + marked.ndim] != marked.shape:
        raise ValueError(f"Shapes {array.shape[place : place + marked.ndim]} and {marked.shape} are incompatible")
    return Tensor(array[(slice(None),) * place + (as_array(mask, tf_bool),)])


@operation("getitem")
def getitem(tensor: Any, index: Any) -> Tensor:
    """Pick as ``[]`` does: numbers, slices, ``...`` and new axes; or what a mask marks."""
    array = as_array(tensor)
    if isinstance(index, Tensor | np.ndarray) and np.asarray(index).dtype == np.bool_ and np.ndim(index):
        return boolean_mask(tensor, index)
    parts = index if isinstance(index, tuple) else (index,)
    try:
        return Tensor(np.asarray(array[tuple(map(_index, parts))], array.dtype))
    except IndexError as error:
        raise InvalidArgumentError(f"{error}: shape {array.shape}") from error


def _index(part: Any) -> Any:
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        return slice(
            *(None if bound is None else operator.index(bound) for bound in (part.start, part.stop, part.step))
        )
    try:
        return operator.index(part)
    except TypeError:
        raise TypeError(
            f"tensors are indexed by numbers, slices, `...` and tf.newaxis, not {part!r}: tf.gather picks many"
        ) from None
