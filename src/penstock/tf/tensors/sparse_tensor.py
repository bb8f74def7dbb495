"""``tf.SparseTensor``: the values that are present, and their indices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.tensors.convert import as_array, as_tensor
from penstock.tf.tensors.dtypes import DType
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.tensor import Tensor, TensorMeta


class SparseTensor(metaclass=TensorMeta):
    """A tensor of ``dense_shape`` with ``values[i]`` at ``indices[i]``."""

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
        """The indices of the values: int64 ``[n, rank]``."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The values that are present."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape as a tensor."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(self._dense_shape._array.tolist())

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def rows(self) -> list[SparseTensor]:
        """Return the slices along the first dimension."""
        indices, shape = self._indices._array, self._dense_shape._array
        order = np.argsort(indices[:, 0], kind="stable")
        bounds = np.searchsorted(indices[order, 0], np.arange(shape[0] + 1))
        places = np.split(order, bounds[1:-1]) if shape[0] else []
        return [SparseTensor(indices[rows, 1:], self._values._array[rows], shape[1:]) for rows in places]

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s})"

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseTensor, (self._indices, self._values, self._dense_shape)


def _int64(value: Any) -> NDArray[np.int64]:
    array = as_array(value)
    return array.astype(np.int64) if array.dtype != np.int64 else array
