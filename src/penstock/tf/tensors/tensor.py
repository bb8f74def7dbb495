"""``tf.Tensor``, and the operators that it shares with symbols: each operator calls an operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.registry import invoke
from penstock.tf.tensors.dtypes import DType, of_numpy
from penstock.tf.tensors.shape import ShapeLike, TensorShape


class Operators:
    """The operators of a tensor."""

    __slots__ = ()
    __array_priority__ = 100  # so that NumPy's arrays defer to these operators

    def __getitem__(self, index: Any) -> Any:
        return invoke("getitem", self, index)

    def __add__(self, other: Any) -> Any:
        return invoke("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return invoke("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return invoke("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return invoke("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return invoke("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return invoke("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return invoke("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return invoke("truediv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return invoke("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return invoke("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return invoke("floormod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return invoke("floormod", other, self)

    def __pow__(self, other: Any) -> Any:
        return invoke("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return invoke("pow", other, self)

    def __matmul__(self, other: Any) -> Any:
        return invoke("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return invoke("matmul", other, self)

    def __neg__(self) -> Any:
        return invoke("negative", self)

    def __abs__(self) -> Any:
        return invoke("abs", self)

    def __invert__(self) -> Any:
        return invoke("invert", self)

    def __and__(self, other: Any) -> Any:
        return invoke("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return invoke("and", other, self)

    def __or__(self, other: Any) -> Any:
        return invoke("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return invoke("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return invoke("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return invoke("xor", other, self)

    def __eq__(self, other: object) -> Any:
        return invoke("operator.equal", self, other)

    def __ne__(self, other: object) -> Any:
        return invoke("operator.not_equal", self, other)

    def __lt__(self, other: Any) -> Any:
        return invoke("less", self, other)

    def __le__(self, other: Any) -> Any:
        return invoke("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return invoke("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return invoke("greater_equal", self, other)

    __hash__ = None  # type: ignore[assignment]


class TensorMeta(type):
    """The metaclass of tensor classes: symbols that stand for a tensor are instances of its class, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        stands_for = getattr(type(instance), "stands_for", None)
        return stands_for is not None and bool(stands_for(instance, cls))


class Tensor(Operators, metaclass=TensorMeta):
    """A value of one dtype and shape; strings are an object array of bytes.

    It wraps an array instead of subclassing it: NumPy's functions do not work with a ``dtype`` that is not NumPy's.
    """

    __slots__ = ("_array",)

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return of_numpy(self._array.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Raise unless the tensor has the shape."""
        invoke("set_shape", self, shape)

    def numpy(self) -> Any:
        """Return a copy as a NumPy array; for a scalar, a NumPy scalar or bytes."""
        return self._array.copy() if self._array.ndim else self._array[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        # Without a copy, the memory is shared.
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
