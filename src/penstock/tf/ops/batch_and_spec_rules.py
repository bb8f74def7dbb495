"""Batch and spec rules that operations share. See :class:`penstock.tf.registry.Operation` for their contract.

Rules know no operation: each is given the function of the operation that it is called for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.tf.ops.ragged_rules import on_flat_values
from penstock.tf.registry import ELEMENTWISE
from penstock.tf.tensors.batch_values import Stacked
from penstock.tf.tensors.convert import as_array, as_shape, as_tensor
from penstock.tf.tensors.dtypes import as_dtype, string
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Tensor

Function = Callable[..., Any]

# Batch rules.


def only_first_is_stacked(first: Any, *rest: Any, **options: Any) -> bool:
    """Return whether the first argument differs from row to row, and no other does."""
    return isinstance(first, Stacked) and not any(isinstance(leaf, Stacked) for leaf in leaves((rest, options)))


def stacked(tensor: Tensor) -> Stacked:
    """Return a tensor whose first dimension is the rows as a batch value."""
    return Stacked(tensor._array)


def batch_axis(axis: int) -> int:
    """Return the axis of a stack for an axis of its rows."""
    return axis + 1 if axis >= 0 else axis


def batch_whole(operation: Function, *args: Any, **options: Any) -> Any:
    """Call the operation on the stack as if it were one tensor, for operations on each element of one tensor."""
    if not args or not only_first_is_stacked(*args, **options):
        return NotImplemented
    return stacked(operation(Tensor(args[0].array), *args[1:], **options))


def batch_elementwise(operation: Function, *args: Any, **options: Any) -> Any:
    """Call the operation on stacks that broadcast, for operations on the elements of two or more tensors."""
    if options or len(args) < 2 or not all(isinstance(arg, Stacked) or _is_plain(arg) for arg in args):
        return NotImplemented
    # Rows broadcast from their last dimension: those of lower rank get new dimensions after the dimension of rows.
    rank = max(arg.array.ndim - 1 if isinstance(arg, Stacked) else np.ndim(as_array(arg)) for arg in args)
    result = operation(*(_aligned(arg, rank) if isinstance(arg, Stacked) else arg for arg in args))
    # == and != return one value for shapes that do not broadcast, where all others raise.
    return stacked(result) if result.ndim else NotImplemented


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | bytes | np.ndarray | np.generic | Tensor)


def _aligned(value: Stacked, rank: int) -> Tensor:
    count, *shape = value.array.shape
    return Tensor(value.array.reshape(count, *[1] * (rank - len(shape)), *shape))


# Spec rules.

# Unknown sizes are tried with both of these: far apart, so that rounding cannot map them to one size.
_TRIAL_SIZES = (32, 67)
_MAX_UNKNOWN_SIZES = 3


def spec_by_trial(operation: Function, *args: Any, **options: Any) -> Any:
    """Call the operation on ones, with two sizes for each unknown one, and keep what is the same for both.

    For operations whose shape and dtype follow from those of the first argument and the values of the others.
    """
    unknown = [leaf for leaf in leaves(args[:1]) if isinstance(leaf, TensorSpec)]
    count = sum(size is None for leaf in unknown for size in (leaf.shape.dims or ()))
    if count > _MAX_UNKNOWN_SIZES or any(isinstance(leaf, TensorSpec) for leaf in leaves((args[1:], options))):
        return None
    if any(leaf.shape.rank is None for leaf in unknown):
        return TensorSpec(None, operation(*map_structure(scalar_trial, args), **options).dtype)
    first, second = (operation(*_trial(args, size), **options) for size in _TRIAL_SIZES)
    sizes = [size if size == other else None for size, other in zip(first.shape, second.shape, strict=True)]
    return TensorSpec(sizes, first.dtype)


def spec_of_reduction(operation: Function, *args: Any, **options: Any) -> Any:
    """Infer by trial where the rank is known; a scalar cannot stand for a tensor that is reduced along an axis."""
    if any(isinstance(leaf, TensorSpec) and leaf.shape.rank is None for leaf in leaves(args[:1])):
        return None
    return spec_by_trial(operation, *args, **options)


def spec_elementwise(operation: Function, *args: Any, **options: Any) -> Any:
    """Broadcast the shapes; call the operation on scalars for the dtype."""
    dtype = operation(*map_structure(scalar_trial, args), **options).dtype
    return TensorSpec(broadcast([spec_of_argument(arg).shape for arg in args]), dtype)


def spec_of_first(operation: Function, value: Any, *args: Any, **options: Any) -> Any:
    """Return the spec of the first argument, for operations that change values only."""
    return value


ELEMENTWISE.update(dict.fromkeys((batch_whole, batch_elementwise, spec_elementwise), on_flat_values))


def scalar_trial(leaf: Any) -> Any:
    """Replace a spec with a scalar of its dtype."""
    return _ones(TensorSpec([], leaf.dtype), 1) if isinstance(leaf, TensorSpec) else leaf


def _trial(args: tuple[Any, ...], size: int) -> Any:
    return map_structure(lambda leaf: _ones(leaf, size), args)


def _ones(leaf: Any, size: int) -> Any:
    """Replace a spec with a tensor of ones; strings are the digit, so that they can be read as numbers."""
    if not isinstance(leaf, TensorSpec):
        return leaf
    shape = [size if known is None else known for known in leaf.shape]
    return as_tensor(np.full(shape, b"1", object) if leaf.dtype == string else np.ones(shape, leaf.dtype.numpy))


def broadcast(shapes: list[TensorShape]) -> TensorShape:
    """Return the shape that tensors of these shapes broadcast to."""
    if any(shape.rank is None for shape in shapes):
        return TensorShape(None)
    rank = max(len(shape) for shape in shapes)
    aligned = [[*[1] * (rank - len(shape)), *shape] for shape in shapes]
    return TensorShape([_broadcast_size(sizes) for sizes in zip(*aligned, strict=True)])


def _broadcast_size(sizes: tuple[int | None, ...]) -> int | None:
    large = {size for size in sizes if size is not None and size != 1}
    if len(large) > 1:
        raise ValueError(f"sizes that do not broadcast: {sizes}")
    return large.pop() if large else None if None in sizes else 1


def spec_of_argument(value: Any) -> TensorSpec:
    """Return the spec of an argument, which is a spec already or a constant."""
    return value if isinstance(value, TensorSpec) else TensorSpec.from_tensor(as_tensor(value))


# Shapes as values: tf.shape(x) of a shape that is partly known is partly known.


class Sizes(TensorSpec):
    """The spec of a vector of integers, some of which are known: the sizes of a tensor."""

    sizes: list[int | None]


def spec_of_sizes(sizes: list[int | None] | None, dtype: Any) -> Any:
    """Return the spec of a tensor that holds these sizes; the tensor itself where all are known."""
    if sizes is None:
        return TensorSpec([None], dtype)
    if None not in sizes:
        return as_tensor(np.array(sizes, as_dtype(dtype).numpy))
    spec = Sizes([len(sizes)], dtype)
    object.__setattr__(spec, "sizes", sizes)
    return spec


def spec_of_integer(number: int | None, dtype: Any) -> Any:
    """Return the spec of an unknown scalar, or the tensor of a known one."""
    return TensorSpec([], dtype) if number is None else as_tensor(np.array(number, as_dtype(dtype).numpy))


def sizes_of_argument(shape: Any) -> list[int | None] | None:
    """Return the sizes in a shape argument, None for each unknown one; None where their number is unknown."""
    if isinstance(shape, Sizes):
        return shape.sizes
    if isinstance(shape, TensorSpec):
        (count,) = shape.shape
        return None if count is None else [None] * count
    if isinstance(shape, list | tuple):
        return [None if isinstance(size, TensorSpec) else int(size) for size in shape]
    return list(as_shape(shape))
