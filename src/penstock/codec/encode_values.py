"""Convert the values of users to arrays of a feature's dtype, without changing any value."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.columns import Column, Nullable, from_arrow
from penstock.errors import RowFault, import_extra
from penstock.schema.dtype import FLOATS, INTEGERS, numpy_dtype

Float64: TypeAlias = Literal["float32", "raw"]
"""How to store float64, which no list of an Example holds: rounded to float32, or as raw bytes."""
# Integers up to 2 ** bits convert to these dtypes exactly.
_EXACT_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def as_array(value: Any) -> NDArray[Any]:
    """Convert anything array-like to a NumPy array: torch and JAX tensors, images, numbers and sequences of them."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) and value.mask.any():
            raise TypeError("a masked array would lose its mask: use None for masked values, or .filled(value)")
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # a torch tensor, on any device
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":  # which torch does not convert to NumPy
            bits: NDArray[Any] = value.view(_torch_int16(value)).numpy()
            return bits.view(numpy_dtype("bfloat16"))
    return np.asarray(value)


def from_masked(column: np.ma.MaskedArray[Any, Any]) -> NDArray[Any] | Nullable:
    """Convert a masked array to a column in which masked rows are absent."""
    if column.ndim > 1 or not np.ma.is_masked(column):
        return as_array(column).view(np.ndarray)
    return Nullable(column.data, ~np.ma.getmaskarray(column))


def is_untyped(array: NDArray[Any]) -> bool:
    """Whether an array is empty and has the default dtype of ``np.array([])``, which was not chosen."""
    return array.size == 0 and array.dtype == np.float64


def convert_array(array: NDArray[Any], dtype: str, float64: Float64 | None) -> NDArray[Any]:
    """Convert to a C-contiguous array of a feature's dtype; raise a RowFault for the first item that does not fit."""
    wanted = numpy_dtype(dtype)
    if array.dtype == wanted or array.dtype.newbyteorder("=") == wanted:
        return np.ascontiguousarray(array, wanted).reshape(array.shape)  # ascontiguousarray adds a dimension to scalars
    if is_untyped(array):
        return np.empty(array.shape, wanted)
    rounding = array.dtype == np.float64 and dtype == "float32" and float64 == "float32"
    if not rounding and not _can_convert(array.dtype, dtype):
        raise RowFault(0, f"expected {dtype}, found {array.dtype}{_advice(array.dtype, dtype)}")
    with np.errstate(over="ignore", invalid="ignore"):
        converted = array.astype(wanted, order="C")
    changed = _overflowed(array, converted) if rounding else _changed(array, converted, dtype)
    if changed.any():
        # The first dimension is the rows; a scalar is one row.
        item = int(np.argmax(changed)) // math.prod(array.shape[1:]) if array.ndim else 0
        raise RowFault(item, f"found a value of {array.dtype} that {dtype} does not hold")
    return converted


def found_type(value: Any) -> str:
    """Return a short description of a value, for error messages."""
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}{list(value.shape) if value.shape else ''}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else type(value).__name__


def shape_text(shape: tuple[int | None, ...]) -> str:
    """Return a shape as it is written in a feature, such as ``(None, 3)``."""
    return str(tuple(shape))


def _torch_int16(value: Any) -> Any:
    import torch  # type: ignore[import-not-found, unused-ignore]

    return torch.int16


def _can_convert(found: np.dtype[Any], dtype: str) -> bool:
    if found.kind in "biu":
        return dtype in INTEGERS | FLOATS
    # Floats are not rounded. Whether they fit exactly depends on the values; float64 needs an explicit choice.
    return found.name in FLOATS and dtype in FLOATS and (found != np.float64 or dtype == "float64")


def _advice(found: np.dtype[Any], dtype: str) -> str:
    if found == np.float64 and dtype in FLOATS:
        rounding = 'the option float64="float32"' if dtype == "float32" else f".astype({dtype!r})"
        return f"; {rounding} rounds it, a schema with Feature('float64', ..., encoding='raw') stores it unchanged"
    return ""


def _changed(array: NDArray[Any], converted: NDArray[Any], dtype: str) -> NDArray[np.bool_]:
    if array.dtype.kind == "b":
        return np.zeros(0, np.bool_)
    if array.dtype.kind in "iu":
        if dtype in FLOATS:
            most = 1 << _EXACT_BITS[dtype]
            return _outside(array, -most, most)
        limits = np.iinfo(dtype)
        return _outside(array, int(limits.min), int(limits.max))
    wide = converted.astype(array.dtype)
    return np.asarray((wide != array) & ~(np.isnan(wide) & np.isnan(array)))


def _outside(array: NDArray[Any], least: int, most: int) -> NDArray[np.bool_]:
    limits = np.iinfo(array.dtype)  # compare Python integers first: bounds may not fit the array's dtype
    below = array < least if least > limits.min else np.zeros((), np.bool_)
    above = array > most if most < limits.max else np.zeros((), np.bool_)
    return np.asarray(below | above)


def _overflowed(array: NDArray[Any], converted: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.isinf(converted) & ~np.isinf(array))


def as_column(name: str, values: Any) -> Any:
    """Return a list of rows unchanged, and anything else as an array or a column."""
    if isinstance(values, Column | list):
        return values
    if isinstance(values, tuple):
        return list(values)
    if is_arrow(values) and not isinstance(values, np.ndarray):
        return from_arrow(import_extra("pyarrow", "arrow", "writing Arrow data").table({name: values}))[name]
    if isinstance(values, np.ma.MaskedArray):
        return from_masked(values)
    array = as_array(values)
    if array.ndim == 0:
        raise TypeError(f"a column needs rows, found {type(values).__name__}: column {name!r}")
    return array


def is_arrow(data: Any) -> bool:
    """Whether an object exports Arrow data."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
