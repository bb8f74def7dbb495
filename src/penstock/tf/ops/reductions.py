"""Operations that reduce, scan or sort elements along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops import ragged_rules
from penstock.tf.ops.batch_and_spec_rules import (
    batch_axis,
    only_first_is_stacked,
    spec_by_trial,
    spec_of_argument,
    spec_of_reduction,
    stacked,
)
from penstock.tf.registry import Rule, operation
from penstock.tf.tensors.convert import as_array, new_shape
from penstock.tf.tensors.dtypes import as_dtype, int32, int64, of_numpy
from penstock.tf.tensors.dtypes import bool as tf_bool
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.tensor import Tensor

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "cumsum",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "sequence_mask",
    "sort",
    "unique",
]


def _axes(array: NDArray[Any], axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(array.ndim))
    axes = tuple(int(place) for place in np.atleast_1d(np.asarray(axis)))
    if any(not -array.ndim <= place < array.ndim for place in axes):
        raise InvalidArgumentError(f"Invalid reduction dimension {axes} for input with {array.ndim} dimensions.")
    return axes


def _reduce_batch(operation: Any, *args: Any, **options: Any) -> Any:
    axis = options.pop("axis", args[1] if len(args) > 1 else None)
    if len(args) > 2 or not only_first_is_stacked(*args, **options) or not (axis is None or isinstance(axis, int)):
        return NotImplemented
    array = args[0].array
    if axis is None:
        return stacked(operation(Tensor(array), list(range(1, array.ndim)), **options))
    if not -array.ndim < axis < array.ndim - 1:
        return NotImplemented
    return stacked(operation(Tensor(array), batch_axis(axis), **options))


def _reduction(
    name: str, function: Callable[..., Any], *, ragged: Rule, of_bools: bool = False, batch: Rule | None = None
) -> Callable[..., Tensor]:
    @operation(name, batch=batch, spec=spec_of_reduction, ragged=ragged)
    def call(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
        array = as_array(input_tensor, tf_bool if of_bools else None)
        if not of_bools and not of_numpy(array.dtype).is_numeric:
            raise InvalidArgumentError(f"the operation takes numbers, not {of_numpy(array.dtype).name}")
        with np.errstate(all="ignore"):
            reduced = np.asarray(function(array, axis=_axes(array, axis), keepdims=keepdims))
        return Tensor(reduced.astype(array.dtype, copy=False))

    call.__name__ = call.__qualname__ = name
    return call


def _sum(array: NDArray[Any], **options: Any) -> Any:
    return np.sum(array, dtype=array.dtype, **options)


def _mean(array: NDArray[Any], **options: Any) -> Any:
    count = np.prod([array.shape[place] for place in options["axis"]], dtype=np.int64)
    total = _sum(array, **options)
    if not of_numpy(array.dtype).is_integer:
        return (total / array.dtype.type(count)).astype(array.dtype)
    if not count:
        return np.zeros_like(total)
    return np.trunc(total / count)  # division in C truncates


def _extreme(function: Callable[..., Any], *, largest: bool) -> Callable[..., Any]:
    def reduce(array: NDArray[Any], **options: Any) -> Any:
        dtype = of_numpy(array.dtype)
        if dtype.is_floating:
            nothing: Any = -np.inf if largest else np.inf
        else:
            nothing = dtype.min if largest else dtype.max
        return function(array, initial=nothing, **options)

    return reduce


def _lowest(dtype: np.dtype[Any]) -> Any:
    return of_numpy(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return of_numpy(dtype).max


_RAGGED_SUM = ragged_rules.reduces_with(np.add, lambda dtype: 0)
_RAGGED_PRODUCT = ragged_rules.reduces_with(np.multiply, lambda dtype: 1)
_RAGGED_MAX = ragged_rules.reduces_with(np.maximum, _lowest)
_RAGGED_MIN = ragged_rules.reduces_with(np.minimum, _highest)
_RAGGED_ANY = ragged_rules.reduces_with(np.logical_or, lambda dtype: False)
_RAGGED_ALL = ragged_rules.reduces_with(np.logical_and, lambda dtype: True)

reduce_sum = _reduction("reduce_sum", _sum, ragged=_RAGGED_SUM)
reduce_mean = _reduction("reduce_mean", _mean, ragged=ragged_rules.mean)
reduce_max = _reduction("reduce_max", _extreme(np.max, largest=True), batch=_reduce_batch, ragged=_RAGGED_MAX)
reduce_min = _reduction("reduce_min", _extreme(np.min, largest=False), batch=_reduce_batch, ragged=_RAGGED_MIN)
reduce_prod = _reduction(
    "reduce_prod",
    lambda array, **options: np.prod(array, dtype=array.dtype, **options),
    ragged=_RAGGED_PRODUCT,
)
reduce_std = _reduction("math.reduce_std", np.std, ragged=ragged_rules.standard_deviation)
reduce_variance = _reduction("math.reduce_variance", np.var, ragged=ragged_rules.variance)
reduce_any = _reduction("reduce_any", np.any, of_bools=True, batch=_reduce_batch, ragged=_RAGGED_ANY)
reduce_all = _reduction("reduce_all", np.all, of_bools=True, batch=_reduce_batch, ragged=_RAGGED_ALL)


@operation("argmax", spec=spec_by_trial)
def argmax(input: Any, axis: Any = None, output_type: Any = int64, name: str | None = None) -> Tensor:
    """Return the index of the largest element, the first of equal ones."""
    return _arg(np.argmax, input, axis, output_type)


@operation("argmin", spec=spec_by_trial)
def argmin(input: Any, axis: Any = None, output_type: Any = int64, name: str | None = None) -> Tensor:
    """Return the index of the smallest element, the first of equal ones."""
    return _arg(np.argmin, input, axis, output_type)


def _arg(function: Callable[..., Any], values: Any, axis: Any, output_type: Any) -> Tensor:
    array = as_array(values)
    (place,) = _axes(array, 0 if axis is None else axis)
    if not array.shape[place]:
        raise InvalidArgumentError(f"Reduction axis {place} is empty in shape {list(array.shape)}")
    return Tensor(np.asarray(function(array, axis=place)).astype(as_dtype(output_type).numpy))


@operation("cumsum", spec=spec_by_trial)
def cumsum(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Return cumulative sums along a dimension."""
    array = as_array(x)
    ordered = np.flip(array, axis) if reverse else array
    summed = np.cumsum(ordered, axis, dtype=array.dtype)
    if exclusive:
        summed = summed - ordered
    return Tensor(np.flip(summed, axis) if reverse else summed)


@operation("sort", spec=spec_by_trial)
def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Sort along a dimension."""
    ordered = np.sort(as_array(values), axis)
    return Tensor(np.flip(ordered, axis) if _descending(direction) else ordered)


@operation("argsort", spec=spec_by_trial)
def argsort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """Return the indices that sort; the sort is stable."""
    array = as_array(values)
    if _descending(direction):  # sorted in reverse, so that equal elements keep their order
        backwards = np.argsort(np.flip(array, axis), axis, kind="stable")
        order = np.flip(array.shape[axis] - 1 - backwards, axis)
    else:
        order = np.argsort(array, axis, kind="stable")
    return Tensor(order.astype(np.int32))


def _descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction must be ASCENDING or DESCENDING, not {direction}")
    return direction == "DESCENDING"


_TWO_TENSORS: Any = (None, None)


class Unique(NamedTuple):
    """The distinct values in order of first occurrence, and the index among them of each element."""

    y: Tensor
    idx: Tensor


def _unique_spec(operation: Any, x: Any, out_idx: Any = int32, name: str | None = None) -> Any:
    return TensorSpec([None], x.dtype), TensorSpec(x.shape, out_idx)


@operation("unique", spec=_unique_spec, results=lambda *args, **options: Unique(*_TWO_TENSORS))
def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Unique:
    """Return the distinct values, and the index among them of each element."""
    array = as_array(x)
    if array.ndim != 1:
        raise InvalidArgumentError("unique expects a 1D vector.")
    numbers: dict[Any, int] = {}
    places = [numbers.setdefault(value, len(numbers)) for value in array.tolist()]
    first = np.unique(np.array(places, np.int64), return_index=True)[1]
    return Unique(Tensor(array[first]), Tensor(np.array(places, as_dtype(out_idx).numpy)))


def _sequence_mask_spec(
    operation: Any, lengths: Any, maxlen: Any = None, dtype: Any = tf_bool, name: str | None = None
) -> Any:
    size = None if maxlen is None or isinstance(maxlen, TensorSpec) else int(maxlen)
    return TensorSpec(spec_of_argument(lengths).shape.concatenate([size]), dtype)


@operation("sequence_mask", spec=_sequence_mask_spec)
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = tf_bool, name: str | None = None) -> Tensor:
    """Return a mask of the first elements of each row, as many as its length."""
    array = as_array(lengths)
    width = int(array.max(initial=0)) if maxlen is None else int(maxlen)
    new_shape((*array.shape, width), np.dtype(np.int64))
    return Tensor((np.arange(width) < array[..., None]).astype(as_dtype(dtype).numpy))
