"""Operations that change shapes: reshape, transpose, join, split, repeat and pad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops import ragged_rules
from penstock.tf.ops.batch_and_spec_rules import (
    Sizes,
    batch_axis,
    only_first_is_stacked,
    sizes_of_argument,
    spec_by_trial,
    spec_of_argument,
    spec_of_sizes,
    stacked,
)
from penstock.tf.ops.creation import zero_of
from penstock.tf.registry import UnknownStructureError, operation
from penstock.tf.tensors.batch_values import Stacked
from penstock.tf.tensors.convert import as_array, as_arrays_of_one_dtype, as_shape, new_shape
from penstock.tf.tensors.dtypes import of_numpy
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.tensor import Tensor


def _reshape_batch(operation: Any, *args: Any, **options: Any) -> Any:
    if len(args) < 2 or not only_first_is_stacked(*args, **options):
        return NotImplemented
    array = args[0].array
    return stacked(operation(Tensor(array), (len(array), *as_shape(args[1]))))


def _reshape_spec(operation: Any, tensor: Any, shape: Any, name: str | None = None) -> Any:
    spec, wanted = spec_of_argument(tensor), sizes_of_argument(shape)
    if wanted is None:
        return TensorSpec(None, spec.dtype)
    given = [size for size in wanted if size is not None and size != -1]
    count, rest = spec.shape.num_elements(), math.prod(given)
    # One size that is not given follows from the others.
    open_size = count // rest if count is not None and rest and len(given) == len(wanted) - 1 else None
    return TensorSpec([open_size if size is None or size == -1 else size for size in wanted], spec.dtype)


@operation("reshape", batch=_reshape_batch, spec=_reshape_spec)
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Change the shape; one size may be -1."""
    array = as_array(tensor)
    wanted = as_shape(shape)
    try:
        if wanted.count(-1) > 1 or any(size < -1 for size in wanted):
            raise ValueError
        return Tensor(array.reshape(wanted))
    except ValueError:
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {array.size} values, but the requested shape is {list(wanted)}"
        ) from None


def _expand_dims_batch(operation: Any, *args: Any, **options: Any) -> Any:
    axis = options.pop("axis", args[1] if len(args) > 1 else None)
    if not isinstance(axis, int) or not only_first_is_stacked(*args, **options):
        return NotImplemented
    array = args[0].array
    if not -array.ndim <= axis < array.ndim:
        return NotImplemented  # the axis would come before the dimension of rows
    return stacked(operation(Tensor(array), batch_axis(axis)))


@operation("expand_dims", batch=_expand_dims_batch, spec=spec_by_trial, ragged=ragged_rules.expand_dims)
def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """Insert a dimension of size 1."""
    array = as_array(input)
    place = int(axis)
    if not -array.ndim - 1 <= place <= array.ndim:
        raise InvalidArgumentError(f"Tried to expand dim index {place} for tensor with {array.ndim} dimensions.")
    return Tensor(np.expand_dims(array, place))


def _squeeze_batch(operation: Any, *args: Any, **options: Any) -> Any:
    axis = options.pop("axis", args[1] if len(args) > 1 else None)
    if not (axis is None or isinstance(axis, int)) or not only_first_is_stacked(*args, **options):
        return NotImplemented
    array = args[0].array
    if axis is None:
        axes = [place for place in range(1, array.ndim) if array.shape[place] == 1]
        return stacked(operation(Tensor(array), axes)) if axes else args[0]
    if not -array.ndim < axis < array.ndim - 1:
        return NotImplemented
    return stacked(operation(Tensor(array), batch_axis(axis)))


def _squeeze_spec(operation: Any, input: Any, axis: Any = None, name: str | None = None) -> Any:
    sizes = input.shape.as_list()
    axes = [] if axis is None else [place % len(sizes) for place in np.atleast_1d(axis).tolist()]
    if not axes and None in sizes:
        return TensorSpec(None, input.dtype)
    left = [size for place, size in enumerate(sizes) if (place not in axes if axes else size != 1)]
    return TensorSpec(left, input.dtype)


@operation("squeeze", batch=_squeeze_batch, spec=_squeeze_spec)
def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Remove dimensions of size 1."""
    array = as_array(input)
    axes = None if axis is None or (isinstance(axis, Sequence) and not axis) else tuple(np.atleast_1d(axis).tolist())
    try:
        return Tensor(np.asarray(np.squeeze(array, axes)))
    except ValueError as error:
        raise InvalidArgumentError(f"Can not squeeze {axes} of shape {array.shape}") from error


def _transpose_batch(operation: Any, *args: Any, **options: Any) -> Any:
    perm = options.pop("perm", args[1] if len(args) > 1 else None)
    if options or not only_first_is_stacked(*args) or not (perm is None or isinstance(perm, list | tuple)):
        return NotImplemented
    rank = args[0].array.ndim - 1
    order = range(rank - 1, -1, -1) if perm is None else perm
    return stacked(operation(Tensor(args[0].array), [0, *(place + 1 for place in order)]))


@operation("transpose", batch=_transpose_batch, spec=spec_by_trial)
def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """Reorder the dimensions."""
    array = as_array(a)
    try:
        turned = np.transpose(array, None if perm is None else as_shape(perm))
    except ValueError as error:
        raise InvalidArgumentError(f"{perm} is not a permutation of {array.ndim} dimensions") from error
    return Tensor(np.conjugate(turned) if conjugate else turned)


@operation("reverse", spec=spec_by_trial)
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Reverse dimensions."""
    return Tensor(np.flip(as_array(tensor), tuple(as_shape(axis))))


def _join_batch(operation: Any, values: Any, axis: Any, *, new_axes: int) -> Any:
    if not isinstance(values, list | tuple) or not all(isinstance(value, Stacked) for value in values):
        return NotImplemented
    if not isinstance(axis, int) or axis < 1 - values[0].array.ndim - new_axes:
        return NotImplemented  # the axis would come before the dimension of rows
    return stacked(operation([Tensor(value.array) for value in values], batch_axis(axis)))


def _stack_batch(operation: Any, values: Any, axis: Any = 0, *args: Any, **options: Any) -> Any:
    return _join_batch(operation, values, axis, new_axes=1)


def _concat_batch(operation: Any, values: Any, axis: Any = 0, *args: Any, **options: Any) -> Any:
    return _join_batch(operation, values, axis, new_axes=0)


def _stack_spec(operation: Any, values: Any, axis: int = 0, name: str = "stack") -> Any:
    if isinstance(values, TensorSpec):
        return values
    dtype = next(value.dtype for value in values if isinstance(value, TensorSpec))
    if dtype.is_integer and all(spec_of_argument(value).shape.rank == 0 for value in values):
        return spec_of_sizes([None if isinstance(value, TensorSpec) else int(value) for value in values], dtype)
    shape = TensorShape(None)
    for value in values:
        shape = shape.merge_with(spec_of_argument(value).shape)
    if shape.rank is None:
        return TensorSpec(None, dtype)
    sizes = shape.as_list()
    sizes.insert(axis if axis >= 0 else len(sizes) + 1 + axis, len(values))
    return TensorSpec(sizes, dtype)


@operation("stack", batch=_stack_batch, spec=_stack_spec, ragged=ragged_rules.stack)
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Join tensors of one shape along a new dimension."""
    return Tensor(_joined(np.stack, values, axis))


def _concat_spec(operation: Any, values: Any, axis: Any, name: str = "concat") -> Any:
    specs = [spec_of_argument(value) for value in values]
    dtype = next(value.dtype for value in values if isinstance(value, TensorSpec))
    shapes = [spec.shape for spec in specs if spec.shape.rank is not None]
    if not shapes:
        return TensorSpec(None, dtype)
    place = int(axis) % len(shapes[0])
    if any(isinstance(value, Sizes) for value in values):
        return spec_of_sizes([size for value in values for size in sizes_of_argument(value) or [None]], dtype)
    merged = TensorShape(None)
    for shape in shapes:
        merged = merged.merge_with([None if at == place else size for at, size in enumerate(shape)])
    parts = [shape[place] for shape in shapes]
    total = None if len(shapes) < len(specs) or None in parts else sum(parts)
    return TensorSpec([total if at == place else size for at, size in enumerate(merged)], dtype)


@operation("concat", batch=_concat_batch, spec=_concat_spec, ragged=ragged_rules.concat)
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Join tensors along a dimension."""
    return Tensor(_joined(np.concatenate, values, int(axis)))


def _joined(function: Any, values: Any, axis: int) -> NDArray[Any]:
    arrays = as_arrays_of_one_dtype(values)
    try:
        joined: NDArray[Any] = function(arrays, axis=axis)
    except ValueError as error:
        raise InvalidArgumentError(f"shapes {[array.shape for array in arrays]} cannot be joined: {error}") from error
    return joined


def _unstack_results(value: Any, num: int | None = None, *rest: Any, **options: Any) -> Any:
    if not isinstance(num, int):
        raise UnknownStructureError("tf.unstack without num, which asks for a size")
    return [None] * num


def _unstack_spec(operation: Any, value: Any, num: int, axis: int = 0, name: str = "unstack") -> Any:
    place = axis % len(value.shape)
    return [TensorSpec(value.shape[:place] + value.shape[place + 1 :], value.dtype)] * num


@operation("unstack", spec=_unstack_spec, results=_unstack_results)
def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Split a tensor into its slices along a dimension."""
    array = np.moveaxis(as_array(value), axis, 0)
    if num is not None and num != len(array):
        raise ValueError(f"num={num}, but the dimension has {len(array)} elements")
    return [Tensor(np.asarray(part, array.dtype)) for part in array]


def _split_results(value: Any, num_or_size_splits: Any, *rest: Any, **options: Any) -> Any:
    if isinstance(num_or_size_splits, int):
        return [None] * num_or_size_splits
    if isinstance(num_or_size_splits, list | tuple) or type(num_or_size_splits) is Tensor:
        return [None] * len(num_or_size_splits)
    raise UnknownStructureError("tf.split in a number of parts that is a tensor")


def _split_spec(
    operation: Any, value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None, name: str = "split"
) -> Any:
    size = value.shape[axis]
    if isinstance(num_or_size_splits, int):
        parts = [None if size is None else size // num_or_size_splits] * num_or_size_splits
    else:
        given = np.asarray(as_array(num_or_size_splits)).tolist()
        rest = None if size is None else size - sum(part for part in given if part >= 0)
        parts = [rest if part < 0 else part for part in given]
    place = axis % len(value.shape)
    return [TensorSpec([*value.shape[:place], part, *value.shape[place + 1 :]], value.dtype) for part in parts]


@operation("split", spec=_split_spec, results=_split_results)
def split(
    value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Split a tensor along a dimension, into equal parts or parts of given sizes."""
    array = as_array(value)
    sizes = as_array(num_or_size_splits)
    length = array.shape[axis]
    if not sizes.ndim:
        if length % int(sizes):
            raise InvalidArgumentError(f"a dimension of {length} does not split evenly in {int(sizes)}")
        return [Tensor(part) for part in np.split(array, int(sizes), axis)]
    known = np.where(sizes < 0, length - sizes[sizes >= 0].sum(), sizes)
    if known.sum() != length or (known < 0).any():
        raise InvalidArgumentError(f"sizes {sizes.tolist()} do not add up to {length}")
    return [Tensor(part) for part in np.split(array, np.cumsum(known)[:-1], axis)]


@operation("tile", spec=spec_by_trial)
def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """Repeat a tensor along its dimensions."""
    array, times = as_array(input), as_shape(multiples)
    if len(times) != array.ndim:
        raise InvalidArgumentError(f"expected {array.ndim} multiples, found {len(times)}")
    new_shape((size * count for size, count in zip(array.shape, times, strict=True)), array.dtype)
    return Tensor(np.tile(array, times))


def _repeat_spec(operation: Any, input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Any:
    if axis is not None:
        return None
    spec = spec_of_argument(input)
    count, times = spec.shape.num_elements(), spec_of_argument(repeats)
    known = count is not None and times.shape.rank == 0 and times is not repeats
    return TensorSpec([count * int(repeats) if known and count is not None else None], spec.dtype)


@operation("repeat", spec=_repeat_spec)
def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Repeat elements."""
    array, counts = as_array(input), np.asarray(repeats)
    if (counts < 0).any():
        raise InvalidArgumentError("expected repeats >= 0 in tf.repeat")
    length = array.size if axis is None else array.shape[axis]
    total = sum(counts.ravel().tolist()) * (length if counts.size == 1 else 1)
    new_shape([total, array.size // max(length, 1)], array.dtype)
    return Tensor(np.repeat(array, counts, axis))


_PAD_MODES = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}


@operation("pad", spec=spec_by_trial)
def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None
) -> Tensor:
    """Pad each dimension before and after its elements."""
    array, widths = as_array(tensor), np.asarray(paddings)
    if mode.upper() not in _PAD_MODES:
        raise ValueError(f"mode must be one of {', '.join(_PAD_MODES)}, not {mode}")
    if widths.shape != (array.ndim, 2) or (widths < 0).any():
        raise InvalidArgumentError(
            f"expected paddings of shape [{array.ndim}, 2] and values >= 0, found {widths.tolist()}"
        )
    if mode.upper() != "CONSTANT":
        most = np.array(array.shape)[:, None] - (mode.upper() == "REFLECT")
        if (widths > most).any():
            raise InvalidArgumentError(f"paddings {widths.tolist()} are wider than the shape {array.shape} can mirror")
        return Tensor(np.pad(array, widths, mode=_PAD_MODES[mode.upper()]))  # type: ignore[call-overload]
    value = (
        zero_of(array.dtype)
        if isinstance(constant_values, int) and constant_values == 0
        else as_array(constant_values, of_numpy(array.dtype))
    )
    sizes = [size + sum(width) for size, width in zip(array.shape, widths.tolist(), strict=True)]
    padded = np.full(new_shape(sizes, array.dtype), value[()], array.dtype)
    padded[tuple(slice(before, before + size) for (before, _), size in zip(widths, array.shape, strict=True))] = array
    return Tensor(padded)


def _broadcast_to_spec(operation: Any, input: Any, shape: Any, name: str | None = None) -> Any:
    return TensorSpec(sizes_of_argument(shape), spec_of_argument(input).dtype)


@operation("broadcast_to", spec=_broadcast_to_spec)
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Repeat a tensor along dimensions of size 1, up to a shape."""
    array = as_array(input)
    try:
        return Tensor(np.broadcast_to(array, new_shape(as_shape(shape), array.dtype)).copy())
    except ValueError as error:
        raise InvalidArgumentError(str(error)) from error
