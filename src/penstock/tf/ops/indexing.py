"""Operations that select elements: by condition, index, mask or ``[]``."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops import ragged_rules
from penstock.tf.ops.batch_and_spec_rules import (
    Sizes,
    batch_elementwise,
    broadcast,
    only_first_is_stacked,
    spec_of_argument,
    spec_of_integer,
    spec_of_sizes,
    stacked,
)
from penstock.tf.ops.elementwise import pair
from penstock.tf.registry import operation
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import bool as tf_bool
from penstock.tf.tensors.dtypes import int64
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import leaves
from penstock.tf.tensors.tensor import Tensor


def _where_batch(operation: Any, *args: Any, **options: Any) -> Any:
    return batch_elementwise(operation, *args, **options) if len(args) > 2 else NotImplemented


def where_spec(operation: Any, condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Infer the shape of the condition and both choices together; of the coordinates where there are no choices."""
    if x is None and y is None:
        return TensorSpec([None, condition.shape.rank], int64)
    dtype = next((value.dtype for value in (x, y) if hasattr(value, "dtype")), None) or spec_of_argument(x).dtype
    return TensorSpec(broadcast([spec_of_argument(value).shape for value in (condition, x, y)]), dtype)


@operation("where", batch=_where_batch, spec=where_spec, ragged=ragged_rules.on_flat_values)
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Select from ``x`` where the condition holds, else from ``y``; without them, return the indices where it holds."""
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


def _gather_spec(
    operation: Any, params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, **options: Any
) -> Any:
    if options.get("batch_dims"):
        return None
    spec = spec_of_argument(params)
    if spec.shape.rank is None:
        return spec
    place = int(axis or 0) % len(spec.shape)
    return TensorSpec(spec.shape[:place] + spec_of_argument(indices).shape + spec.shape[place + 1 :], spec.dtype)


@operation("gather", spec=_gather_spec, ragged=ragged_rules.gather)
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Select elements by index along a dimension."""
    array, selected = as_array(params), as_array(indices)
    place = int(axis or 0)
    if batch_dims:
        raise ValueError("batch_dims is not supported here: loop over the batch, or reshape")
    length = array.shape[place]
    if ((selected < 0) | (selected >= length)).any():
        raise InvalidArgumentError(f"indices are not in [0, {length})")
    return Tensor(np.asarray(np.take(array, selected, place), array.dtype))


def _boolean_mask_spec(operation: Any, tensor: Any, mask: Any, axis: int | None = None, name: str | None = None) -> Any:
    spec, rank, place = spec_of_argument(tensor), len(spec_of_argument(mask).shape), axis or 0
    return TensorSpec([*spec.shape[:place], None, *spec.shape[place + rank :]], spec.dtype)


@operation("boolean_mask", spec=_boolean_mask_spec, ragged=ragged_rules.boolean_mask)
def boolean_mask(tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask") -> Tensor:
    """Select the elements where a mask is True."""
    array, marked = as_array(tensor), as_array(mask)
    place = axis or 0
    if not marked.ndim:
        raise ValueError("mask cannot be scalar.")
    if array.shape[place : place + marked.ndim] != marked.shape:
        raise ValueError(f"Shapes {array.shape[place : place + marked.ndim]} and {marked.shape} are incompatible")
    return Tensor(array[(slice(None),) * place + (as_array(mask, tf_bool),)])


def _getitem_batch(operation: Any, tensor: Any, index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    if not only_first_is_stacked(tensor, parts) or not all(
        part is None or part is Ellipsis or isinstance(part, int | slice) for part in parts
    ):
        return NotImplemented
    return stacked(operation(Tensor(tensor.array), (slice(None), *parts)))


def _getitem_spec(operation: Any, tensor: Any, index: Any) -> Any:
    if isinstance(tensor, Sizes) and isinstance(index, int | slice):
        part = tensor.sizes[index]
        return spec_of_sizes(part, tensor.dtype) if isinstance(part, list) else spec_of_integer(part, tensor.dtype)
    if tensor.shape.rank is None:
        return tensor
    parts = list(index) if isinstance(index, tuple) else [index]
    sizes = tensor.shape.as_list()
    indexed = sum(part is not None and part is not Ellipsis for part in parts)
    if Ellipsis not in [part for part in parts if part is None or part is Ellipsis]:
        parts.append(Ellipsis)
    found: list[int | None] = []
    remaining = iter(sizes)
    for part in parts:
        if part is None:
            found.append(1)
        elif part is Ellipsis:
            found.extend(next(remaining) for _ in range(len(sizes) - indexed))
        elif isinstance(part, slice):
            found.append(_slice_size(next(remaining), part))
        elif spec_of_argument(part).shape.rank == 0:
            next(remaining)
        else:
            return None
    return TensorSpec(found, tensor.dtype)


def _slice_size(size: int | None, part: slice) -> int | None:
    if size is None or any(isinstance(bound, TensorSpec) for bound in leaves(part)):
        return size if part == slice(None) else None
    return len(range(size)[part])


@operation("getitem", batch=_getitem_batch, spec=_getitem_spec)
def getitem(tensor: Any, index: Any) -> Tensor:
    """Implement ``[]``: integers, slices, ``...`` and new axes, or a mask."""
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
            f"expected integers, slices, `...` or tf.newaxis as an index, found {part!r}: tf.gather takes many indices"
        ) from None
