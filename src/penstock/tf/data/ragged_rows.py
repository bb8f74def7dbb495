"""``ragged_batch``: components whose sizes are not all known beforehand become ragged, all others are stacked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.batch_values import Rows, Stacked
from penstock.tf.data.batched_rows import STACKED, Join, stacked
from penstock.tf.dtypes import DType, as_dtype, int32, int64
from penstock.tf.errors import UnimplementedError
from penstock.tf.ragged_tensor import RaggedTensor
from penstock.tf.specs import UNKNOWN, RaggedTensorSpec, TensorSpec
from penstock.tf.structure import leaves, map_structure
from penstock.tf.tensor import Tensor


def ragged(known: Any, row_splits_dtype: Any) -> Join:
    """Answer what makes batches of elements with these specs, by which it is decided what becomes ragged."""
    if known is None or UNKNOWN in leaves(known):
        raise UnimplementedError(
            "ragged_batch() needs the shapes of elements before they are made, and they are not known: functions "
            "before it have to be traced to their end (see explain()); padded_batch() needs no shapes"
        )
    dtype = as_dtype(row_splits_dtype)
    if dtype not in (int32, int64):
        raise ValueError(f"Argument `row_splits_dtype` must be int32 or int64. Received: {dtype}")
    specs = map_structure(lambda spec: _ragged_spec(spec, dtype), known)

    def join(found: Any) -> Any:
        numbered = enumerate(leaves(specs))
        return map_structure(lambda leaf: _batch(leaf, *next(numbered)), found)

    return Join(join, lambda _, first: STACKED.spec(specs, first))


def _ragged_spec(spec: Any, row_splits_dtype: DType) -> Any:
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None or spec.shape.is_fully_defined():
        return spec
    last = max(axis for axis, size in enumerate(spec.shape) if size is None)
    return RaggedTensorSpec(spec.shape, spec.dtype, last, row_splits_dtype)


def _batch(leaf: Stacked | Rows, component: int, spec: Any) -> Any:
    values = leaf.each()
    if isinstance(spec, RaggedTensorSpec) and all(isinstance(value, Tensor) for value in values):
        return _ragged([value._array for value in values], spec)
    return stacked(leaf, component)


def _ragged(arrays: list[NDArray[Any]], spec: RaggedTensorSpec) -> RaggedTensor:
    """Put arrays one behind the other, ragged down to the last dimension that differs."""
    levels = spec.ragged_rank + 1
    flat = [array.reshape(math.prod(array.shape[:levels]), *array.shape[levels:]) for array in arrays]
    values: Any = Tensor(np.concatenate(flat))
    for level in reversed(range(levels)):
        lengths = [np.full(math.prod(array.shape[:level]), array.shape[level]) for array in arrays]
        splits = np.cumsum(np.concatenate([[0], *lengths])).astype(spec.row_splits_dtype.numpy)
        values = RaggedTensor(values, splits, uniform_row_length=spec.shape[level])
    found: RaggedTensor = values
    return found
