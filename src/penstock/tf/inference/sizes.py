"""Shapes among the arguments of operations, given or computed of other shapes: parts of them may be known."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.tf.tensors.convert import as_shape, as_tensor
from penstock.tf.tensors.dtypes import as_dtype
from penstock.tf.tensors.specs import TensorSpec


class Sizes(TensorSpec):
    """The spec of a list of integers of which some are known: the sizes of a tensor, as they are computed with."""

    sizes: list[int | None]


def sizes_of(sizes: list[int | None] | None, dtype: Any) -> Any:
    """Return what is known of a tensor that holds these sizes; the tensor itself where all are known."""
    if sizes is None:
        return TensorSpec([None], dtype)
    if None not in sizes:
        return as_tensor(np.array(sizes, as_dtype(dtype).numpy))
    spec = Sizes([len(sizes)], dtype)
    object.__setattr__(spec, "sizes", sizes)
    return spec


def number_of(number: int | None, dtype: Any) -> Any:
    """Return what is known of a scalar: itself, or its spec."""
    return TensorSpec([], dtype) if number is None else as_tensor(np.array(number, as_dtype(dtype).numpy))


def given_sizes(shape: Any) -> list[int | None] | None:
    """Return what is known of a shape that is given as an argument."""
    if isinstance(shape, Sizes):
        return shape.sizes
    if isinstance(shape, TensorSpec):
        (count,) = shape.shape
        return None if count is None else [None] * count
    if isinstance(shape, list | tuple):
        return [None if isinstance(size, TensorSpec) else int(size) for size in shape]
    return list(as_shape(shape))


def spec_given(value: Any) -> TensorSpec:
    """Return the spec of an argument, which is one already or a constant."""
    return value if isinstance(value, TensorSpec) else TensorSpec.from_tensor(as_tensor(value))
