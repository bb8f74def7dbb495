"""``tf.sparse``: operations on sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops.batch_and_spec_rules import spec_of_first
from penstock.tf.registry import operation
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.convert import as_array, new_shape
from penstock.tf.tensors.dtypes import of_numpy
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import SparseTensorSpec, TensorSpec
from penstock.tf.tensors.tensor import Tensor


def _to_dense_spec(operation: Any, sp_input: Any, *rest: Any, **options: Any) -> Any:
    return TensorSpec(sp_input.shape, sp_input.dtype)


@operation("sparse.to_dense", spec=_to_dense_spec, composite=True)
def to_dense(
    sp_input: SparseTensor, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """Convert to a dense tensor."""
    indices, values = sp_input.indices._array, sp_input.values._array
    shape = sp_input.dense_shape._array
    if ((indices < 0) | (indices >= shape)).any():
        raise InvalidArgumentError(f"an index is out of bounds: need 0 <= index < {shape.tolist()}")
    if validate_indices and len(indices) > 1:
        _check_order(indices)
    zero: Any = b"" if values.dtype == object else np.zeros((), values.dtype)[()]
    fill = as_array(zero if default_value is None else default_value, of_numpy(values.dtype))
    dense = np.full(new_shape(shape.tolist(), values.dtype), fill[()], values.dtype)
    dense[tuple(indices.T)] = values
    return Tensor(dense)


def _check_order(indices: NDArray[np.int64]) -> None:
    step = indices[1:] - indices[:-1]
    moved = step != 0
    if not moved.any(axis=1).all():
        raise InvalidArgumentError("an index is repeated")
    first = moved.argmax(axis=1)
    if (step[np.arange(len(step)), first] < 0).any():
        raise InvalidArgumentError("an index is out of order: sort them with tf.sparse.reorder")


@operation("sparse.reorder", spec=spec_of_first, composite=True)
def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Sort the values by their indices."""
    indices = sp_input.indices._array
    order = np.lexsort(indices.T[::-1])
    return SparseTensor(Tensor(indices[order]), Tensor(sp_input.values._array[order]), sp_input.dense_shape)


def _from_dense_spec(operation: Any, tensor: Any, name: str | None = None) -> Any:
    return SparseTensorSpec(tensor.shape, tensor.dtype)


@operation("sparse.from_dense", spec=_from_dense_spec, composite=True)
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Convert a dense tensor: its elements that are not zero, or not empty."""
    array = as_array(tensor)
    indices = np.argwhere(array != (b"" if array.dtype == object else 0))
    return SparseTensor(Tensor(indices), Tensor(array[tuple(indices.T)]), Tensor(np.array(array.shape, np.int64)))


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("sparse", name)
