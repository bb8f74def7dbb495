"""``tf.dtypes``: the dtypes, which compare equal to those of NumPy."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from penstock.errors import import_extra
from penstock.schema.dtype import BY_NAME
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow


class DType:
    """The type of the elements of a tensor.

    >>> float32 == np.float32, float32.name
    (True, 'float32')
    """

    __slots__ = (
        *("_name", "_number", "_numpy"),
        *("is_bool", "is_complex", "is_floating", "is_integer", "is_numeric", "is_unsigned"),
    )

    def __init__(self, name: str) -> None:
        self._name = name
        self._number = BY_NAME["bytes" if name == "string" else name].number
        # bfloat16 comes from ml_dtypes, which is imported on first use.
        self._numpy = np.dtype(object if name == "string" else name) if name != "bfloat16" else None
        # Computed once: every operation reads them.
        self.is_bool = name == "bool"
        self.is_complex = name.startswith("complex")
        self.is_floating = name in ("float16", "bfloat16", "float32", "float64")
        self.is_integer = name.startswith(("int", "uint"))
        self.is_unsigned = name.startswith("uint")
        self.is_numeric = self.is_floating or self.is_integer or self.is_complex

    @property
    def name(self) -> str:
        """The name, such as ``"float32"`` or ``"string"``."""
        return self._name

    @property
    def as_datatype_enum(self) -> int:
        """The number of the dtype in a TensorProto."""
        return self._number

    @property
    def as_numpy_dtype(self) -> type[np.generic]:
        """NumPy's scalar type; strings are objects of type bytes."""
        return self.numpy.type

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        if self._numpy is None:
            bfloat16: type[np.generic] = import_extra("ml_dtypes", "bfloat16", "the dtype bfloat16").bfloat16
            self._numpy = np.dtype(bfloat16)
        return self._numpy

    @property
    def size(self) -> int:
        """The size of an element in bytes."""
        return 1 if self._name == "string" else self.numpy.itemsize

    @property
    def min(self) -> Any:
        """The smallest value."""
        return self._limits()[0]

    @property
    def max(self) -> Any:
        """The largest value."""
        return self._limits()[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The values of black and white in an image of this dtype."""
        return (0, 1) if self.is_floating else (0, self.max)

    @property
    def base_dtype(self) -> DType:
        return self

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Return whether the dtypes are the same."""
        return self == as_dtype(other)

    def _limits(self) -> tuple[Any, Any]:
        if self._name == "bool":
            return False, True
        if self.is_integer:
            integers = np.iinfo(self.numpy)
            return integers.min, integers.max
        if self.is_floating and self._name != "bfloat16":
            floats = np.finfo(self.numpy)
            return floats.min, floats.max
        raise TypeError(f"Cannot find the limits of {self}.")

    def __eq__(self, other: object) -> builtins.bool:
        if isinstance(other, DType):
            return self._name == other._name
        if other is None:
            return False
        try:
            return self._name == as_dtype(other)._name
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self._number

    def __repr__(self) -> str:
        return f"tf.{self._name}"

    def __str__(self) -> str:
        return f"<dtype: '{self._name}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self._name,)


float32 = DType("float32")
float64 = double = DType("float64")
int32 = DType("int32")
uint8 = DType("uint8")
int16 = DType("int16")
int8 = DType("int8")
string = DType("string")
complex64 = DType("complex64")
int64 = DType("int64")
bool = DType("bool")
bfloat16 = DType("bfloat16")
uint16 = DType("uint16")
complex128 = DType("complex128")
float16 = half = DType("float16")
uint32 = DType("uint32")
uint64 = DType("uint64")
ALL = (
    *(float32, float64, float16, bfloat16),
    *(int8, int16, int32, int64, uint8, uint16, uint32, uint64),
    *(complex64, complex128, bool, string),
)
_BY_TYPE: dict[Any, DType] = {float: float32, object: string}
_NO_DTYPES: tuple[Any, ...] = (int, str, bytes, None)  # np.dtype would accept these
_BY_NUMPY = {np.dtype(dtype.name): dtype for dtype in ALL if dtype.name not in ("string", "bfloat16")}
_BY_NAME = {dtype.name: dtype for dtype in ALL} | {"float": float32, "double": float64, "half": float16}
_BY_NUMBER = {dtype.as_datatype_enum: dtype for dtype in ALL}
_BY_NUMPY[np.dtype(object)] = string


def as_dtype(type_value: Any) -> DType:
    """Return the DType for a DType, a name, a number, a Python type or anything that ``np.dtype`` accepts."""
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, str) and type_value in _BY_NAME:
        return _BY_NAME[type_value]
    if isinstance(type_value, int) and type_value in _BY_NUMBER:
        return _BY_NUMBER[type_value]
    if isinstance(type_value, type) and type_value in _BY_TYPE:
        return _BY_TYPE[type_value]
    # TensorFlow's own DTypes have the same names.
    name = getattr(type_value, "name", None)
    if isinstance(name, str) and name in _BY_NAME:
        return _BY_NAME[name]
    try:
        if type_value in _NO_DTYPES:
            raise TypeError
        return of_numpy(np.dtype(type_value))
    except TypeError:
        raise TypeError(f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType.") from None


def of_numpy(dtype: np.dtype[Any]) -> DType:
    """Return the DType for a NumPy dtype."""
    found = _BY_NUMPY.get(dtype)
    if found is not None:
        return found
    if dtype.kind in "SUT":
        return string
    if dtype.name in _BY_NAME:  # bfloat16, and numbers of another byte order
        return _BY_NAME[dtype.name]
    raise TypeError(f"expected a dtype that tensors support, found {dtype}")


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("dtypes", name)
