"""Operations on the form of tensors: reshaping, joining, picking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops.creation import zero_of
from penstock.tf.registry import operation
from penstock.tf.tensors.convert import as_array, as_arrays_of_one_dtype, as_shape, new_shape
from penstock.tf.tensors.dtypes import of_numpy
from penstock.tf.tensors.tensor import Tensor


@operation("reshape")
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Give the elements another shape; one size may be -1."""
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


@operation("expand_dims")
def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """Insert a dimension of size 1."""
    array = as_array(input)
    place = int(axis)
    if not -array.ndim - 1 <= place <= array.ndim:
        raise InvalidArgumentError(f"Tried to expand dim index {place} for tensor with {array.ndim} dimensions.")
    return Tensor(np.expand_dims(array, place))


@operation("squeeze")
def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Remove dimensions of size 1."""
    array = as_array(input)
    axes = None if axis is None or (isinstance(axis, Sequence) and not axis) else tuple(np.atleast_1d(axis).tolist())
    try:
        return Tensor(np.asarray(np.squeeze(array, axes)))
    except ValueError as error:
        raise InvalidArgumentError(f"Can not squeeze {axes} of shape {array.shape}") from error


@operation("transpose")
def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """Reorder the dimensions."""
    array = as_array(a)
    try:
        turned = np.transpose(array, None if perm is None else as_shape(perm))
    except ValueError as error:
        raise InvalidArgumentError(f"{perm} is no permutation of {array.ndim} dimensions") from error
    return Tensor(np.conjugate(turned) if conjugate else turned)


@operation("reverse")
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Reverse dimensions."""
    return Tensor(np.flip(as_array(tensor), tuple(as_shape(axis))))


@operation("stack")
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Join tensors of one shape along a new dimension."""
    return Tensor(_joined(np.stack, values, axis))


@operation("concat")
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


@operation("unstack")
def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Take a tensor apart along a dimension."""
    array = np.moveaxis(as_array(value), axis, 0)
    if num is not None and num != len(array):
        raise ValueError(f"num={num}, but the dimension has {len(array)} elements")
    return [Tensor(np.asarray(part, array.dtype)) for part in array]


@operation("split")
def split(
    value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Cut a tensor along a dimension, in equal parts or in parts of given sizes."""
    array = as_array(value)
    sizes = as_array(num_or_size_splits)
    length = array.shape[axis]
    if not sizes.ndim:
        if length % int(sizes):
            raise InvalidArgumentError(f"a dimension of {length} does not split evenly in {int(sizes)}")
        return [Tensor(part) for part in np.split(array, int(sizes), axis)]
    known = np.where(sizes < 0, length - sizes[sizes >= 0].sum(), sizes)
    if known.sum() != length or (known < 0).any():
        raise InvalidArgumentError(f"sizes {sizes.tolist()} do not make {length}")
    return [Tensor(part) for part in np.split(array, np.cumsum(known)[:-1], axis)]


@operation("tile")
def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """Repeat a tensor along its dimensions."""
    array, times = as_array(input), as_shape(multiples)
    if len(times) != array.ndim:
        raise InvalidArgumentError(f"expected {array.ndim} multiples, found {len(times)}")
    new_shape((size * count for size, count in zip(array.shape, times, strict=True)), array.dtype)
    return Tensor(np.tile(array, times))


@operation("repeat")
def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Repeat elements."""
    array, counts = as_array(input), np.asarray(repeats)
    if (counts < 0).any():
        raise InvalidArgumentError("tf.repeat takes counts that are not negative")
    length = array.size if axis is None else array.shape[axis]
    total = sum(counts.ravel().tolist()) * (length if counts.size == 1 else 1)
    new_shape([total, array.size // max(length, 1)], array.dtype)
    return Tensor(np.repeat(array, counts, axis))


_PAD_MODES = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}


@operation("pad")
def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None
) -> Tensor:
    """Pad before and behind each dimension."""
    array, widths = as_array(tensor), np.asarray(paddings)
    if mode.upper() not in _PAD_MODES:
        raise ValueError(f"mode must be one of {', '.join(_PAD_MODES)}, not {mode}")
    if widths.shape != (array.ndim, 2) or (widths < 0).any():
        raise InvalidArgumentError(f"paddings are pairs of counts, one for each of {array.ndim} dimensions")
    if mode.upper() != "CONSTANT":
        most = np.array(array.shape)[:, None] - (mode.upper() == "REFLECT")
        if (widths > most).any():
            raise InvalidArgumentError(f"paddings {widths.tolist()} are wider than {array.shape} can mirror")
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


@operation("broadcast_to")
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Repeat a tensor along dimensions of size 1, up to a shape."""
    array = as_array(input)
    try:
        return Tensor(np.broadcast_to(array, new_shape(as_shape(shape), array.dtype)).copy())
    except ValueError as error:
        raise InvalidArgumentError(str(error)) from error
