"""``tf.SparseTensor`` and ``tf.sparse``: the values that are there, and where."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.registry import operation
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.convert import as_array, as_tensor, new_shape
from penstock.tf.tensors.dtypes import DType, of_numpy
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.tensor import Kind, Tensor


class SparseTensor(metaclass=Kind):
    """``values[i]`` stands at ``indices[i]`` of a tensor of ``dense_shape``."""

    __slots__ = ("_dense_shape", "_indices", "_values")

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._indices = as_tensor(_int64(indices))
        self._values = as_tensor(values)
        self._dense_shape = as_tensor(_int64(dense_shape))
        if self._indices.ndim != 2 or len(self._indices) != len(self._values):
            raise ValueError(f"indices of shape {self._indices.shape} do not fit values of shape {self._values.shape}")
        if self._indices.shape[1] != len(self._dense_shape):
            raise ValueError(f"indices of shape {self._indices.shape} do not fit {len(self._dense_shape)} dimensions")

    @property
    def indices(self) -> Tensor:
        """Where the values stand: int64 ``[n, rank]``."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The values that are there."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The sizes, as a tensor."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The sizes."""
        return TensorShape(self._dense_shape._array.tolist())

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._values.dtype

    def get_shape(self) -> TensorShape:
        """Return the sizes."""
        return self.shape

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s})"

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseTensor, (self._indices, self._values, self._dense_shape)


def _int64(value: Any) -> NDArray[np.int64]:
    array = as_array(value)
    return array.astype(np.int64) if array.dtype != np.int64 else array


@operation("sparse.to_dense")
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
    nothing: Any = b"" if values.dtype == object else np.zeros((), values.dtype)[()]
    filling = as_array(nothing if default_value is None else default_value, of_numpy(values.dtype))
    dense = np.full(new_shape(shape.tolist(), values.dtype), filling[()], values.dtype)
    dense[tuple(indices.T)] = values
    return Tensor(dense)


def _check_order(indices: NDArray[np.int64]) -> None:
    step = indices[1:] - indices[:-1]
    moved = step != 0
    if not moved.any(axis=1).all():
        raise InvalidArgumentError("an index is repeated")
    first = moved.argmax(axis=1)
    if (step[np.arange(len(step)), first] < 0).any():
        raise InvalidArgumentError("an index is out of order: tf.sparse.reorder sorts them")


@operation("sparse.reorder")
def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Sort the values by their places."""
    indices = sp_input.indices._array
    order = np.lexsort(indices.T[::-1])
    return SparseTensor(Tensor(indices[order]), Tensor(sp_input.values._array[order]), sp_input.dense_shape)


@operation("sparse.from_dense")
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Keep the elements that are not zero, or not empty."""
    array = as_array(tensor)
    indices = np.argwhere(array != (b"" if array.dtype == object else 0))
    return SparseTensor(Tensor(indices), Tensor(array[tuple(indices.T)]), Tensor(np.array(array.shape, np.int64)))


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("sparse", name)
