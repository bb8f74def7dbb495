"""``tf.Tensor``: an array with TensorFlow's manners, over an ndarray that NumPy, torch and TensorFlow take as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.dtypes import DType, of_numpy
from penstock.tf.operation import invoke
from penstock.tf.operators import Operators
from penstock.tf.shape import ShapeLike, TensorShape


class Kind(type):
    """The class of a kind of tensors: a symbol that stands for one while a function is traced counts as one, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        stands_for = getattr(type(instance), "stands_for", None)
        return stands_for is not None and bool(stands_for(instance, cls))


class Tensor(Operators, metaclass=Kind):
    """A value of one dtype and shape; strings are an object array of bytes.

    It wraps an array and is none by type: NumPy's own functions would trip over a ``dtype`` that is not NumPy's.
    """

    __slots__ = ("_array",)

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    @property
    def dtype(self) -> DType:
        """The element type."""
        return of_numpy(self._array.dtype)

    @property
    def shape(self) -> TensorShape:
        """The sizes."""
        return TensorShape(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    def get_shape(self) -> TensorShape:
        """Answer the sizes."""
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Assert the shape; here it is always known."""
        invoke("set_shape", self, shape)

    def numpy(self) -> Any:
        """Copy the value to NumPy: an array; a scalar of NumPy, or bytes, where there are no dimensions."""
        return self._array.copy() if self._array.ndim else self._array[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        # Without a copy the memory is shared, as wherever NumPy is handed an array.
        array = self._array if dtype is None else self._array.astype(dtype, copy=False)
        return array.copy() if copy and array is self._array else array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("Scalar tensor has no `len()`")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.ndim:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (Tensor(np.asarray(self._array[index, ...])) for index in range(len(self._array)))

    def __bool__(self) -> bool:
        return bool(self._array)

    def __int__(self) -> int:
        return int(self._array)

    def __float__(self) -> float:
        return float(self._array)

    def __complex__(self) -> complex:
        return complex(self._array)

    def __index__(self) -> int:
        return self._array.__index__()

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec)

    def __str__(self) -> str:
        return f"tf.Tensor({self._array}, shape={self._array.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        value = repr(self._array) if self._array.ndim else repr(self._array.item())
        value = f"\n{value}" if "\n" in value else value
        return f"<tf.Tensor: shape={self._array.shape}, dtype={self.dtype.name}, numpy={value}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (self._array,)

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: object) -> Tensor:
        return Tensor(self._array.copy())
