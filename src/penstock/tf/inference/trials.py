"""Specs that are found by calling an operation: on tensors of ones, of the shapes of its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.tf.inference.sizes import spec_given
from penstock.tf.registry import OPERATIONS
from penstock.tf.tensors.convert import as_tensor
from penstock.tf.tensors.dtypes import string
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import leaves, map_structure

# By which sizes that are not known are tried out: far apart, so that no rounding makes results of one size of both.
_TRIED = (32, 67)
_MOST_TRIED = 3


def tried(name: str, *args: Any, **options: Any) -> Any:
    """Call the operation, whose first argument alone is not there yet."""
    given = [leaf for leaf in leaves(args[:1]) if isinstance(leaf, TensorSpec)]
    unknown = sum(size is None for leaf in given for size in (leaf.shape.dims or ()))
    if unknown > _MOST_TRIED or any(isinstance(leaf, TensorSpec) for leaf in leaves((args[1:], options))):
        return None

    def called(size: int) -> Any:
        return OPERATIONS[name](*map_structure(lambda leaf: _ones(leaf, size), args), **options)

    if any(leaf.shape.rank is None for leaf in given):
        if name.startswith(("reduce_", "strings.reduce_")):
            return None
        return TensorSpec(None, OPERATIONS[name](*map_structure(scalar, args), **options).dtype)
    one, other = map(called, _TRIED)
    return TensorSpec([a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)], one.dtype)


def elementwise(name: str, *args: Any, **options: Any) -> Any:
    """Call the operation on scalars for the dtype; the shapes broadcast."""
    dtype = OPERATIONS[name](*map_structure(scalar, args), **options).dtype
    return TensorSpec(broadcast([spec_given(arg).shape for arg in args]), dtype)


def scalar(leaf: Any) -> Any:
    """Put a scalar in the place of a tensor."""
    return _ones(TensorSpec([], leaf.dtype), 1) if isinstance(leaf, TensorSpec) else leaf


def _ones(leaf: Any, size: int) -> Any:
    """Put ones in the place of a tensor; strings are the digit, so that they can be read as numbers."""
    if not isinstance(leaf, TensorSpec):
        return leaf
    shape = [size if known is None else known for known in leaf.shape]
    return as_tensor(np.full(shape, b"1", object) if leaf.dtype == string else np.ones(shape, leaf.dtype.numpy))


def broadcast(shapes: list[TensorShape]) -> TensorShape:
    """Return the shape of what tensors of these shapes make together, element by element."""
    if any(shape.rank is None for shape in shapes):
        return TensorShape(None)
    rank = max(len(shape) for shape in shapes)
    aligned = [[*[1] * (rank - len(shape)), *shape] for shape in shapes]
    return TensorShape([_together(sizes) for sizes in zip(*aligned, strict=True)])


def _together(sizes: tuple[int | None, ...]) -> int | None:
    large = {size for size in sizes if size is not None and size != 1}
    if len(large) > 1:
        raise ValueError(f"sizes that do not go together: {sizes}")
    return large.pop() if large else None if None in sizes else 1
