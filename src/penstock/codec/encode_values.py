"""Values of a user's making to arrays of a feature's dtype, where that changes no value."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.columns import Column, Nullable, from_arrow
from penstock.errors import RowFault, import_extra
from penstock.schema.dtype import FLOATS, INTEGERS, numpy_dtype

Float64: TypeAlias = Literal["float32", "raw"]
"""What becomes of float64, which no list of an Example holds: rounded to float32, or stored as raw bytes."""
# Up to 2 ** bits, every integer is a float.
_WHOLE_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def as_array(value: Any) -> NDArray[Any]:
    """Return any array-like as a NumPy array: torch and JAX tensors, images, numbers and sequences of them."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) and value.mask.any():
            raise TypeError("what is masked would be lost: write None in its place, or .filled(value)")
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # torch: wherever it is, and whatever it is part of
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":  # which torch does not hand to NumPy
            bits: NDArray[Any] = value.view(_torch_int16(value)).numpy()
            return bits.view(numpy_dtype("bfloat16"))
    return np.asarray(value)


def unmasked(column: np.ma.MaskedArray[Any, Any]) -> NDArray[Any] | Nullable:
    """Return a masked array as a column: rows that are masked are absent."""
    if column.ndim > 1 or not np.ma.is_masked(column):
        return as_array(column).view(np.ndarray)
    return Nullable(column.data, ~np.ma.getmaskarray(column))


def is_untyped(array: NDArray[Any]) -> bool:
    """Whether an array is empty and of the dtype that NumPy gives to ``np.array([])``, which nobody has chosen."""
    return array.size == 0 and array.dtype == np.float64


def convert_array(array: NDArray[Any], dtype: str, float64: Float64 | None) -> NDArray[Any]:
    """Return an array in C order, of a feature's dtype; a RowFault names the first item that does not fit."""
    wanted = numpy_dtype(dtype)
    if array.dtype == wanted or array.dtype.newbyteorder("=") == wanted:
        return np.ascontiguousarray(array, wanted).reshape(array.shape)  # NumPy makes at least one dimension
    if is_untyped(array):
        return np.empty(array.shape, wanted)
    rounds = array.dtype == np.float64 and dtype == "float32" and float64 == "float32"
    if not rounds and not _may_become(array.dtype, dtype):
        raise RowFault(0, f"expected {dtype}, found {array.dtype}{_advice(array.dtype, dtype)}")
    with np.errstate(over="ignore", invalid="ignore"):
        converted = array.astype(wanted, order="C")
    changed = _overflowed(array, converted) if rounds else _changed(array, converted, dtype)
    if changed.any():
        # The first dimension counts rows; a scalar is a row of its own.
        item = int(np.argmax(changed)) // math.prod(array.shape[1:]) if array.ndim else 0
        raise RowFault(item, f"found a value of {array.dtype} that {dtype} does not hold")
    return converted


def found_type(value: Any) -> str:
    """Name what a value is, for a message."""
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}{list(value.shape) if value.shape else ''}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else type(value).__name__


def shape_text(shape: tuple[int | None, ...]) -> str:
    """Write a shape for a message; ``(None, 3)`` as it stands in a feature."""
    return str(tuple(shape))


def _torch_int16(value: Any) -> Any:
    import torch  # type: ignore[import-not-found, unused-ignore]

    return torch.int16


def _may_become(found: np.dtype[Any], dtype: str) -> bool:
    if found.kind == "b":
        return dtype in INTEGERS | FLOATS
    if found.kind in "iu":
        return dtype in INTEGERS | FLOATS
    # A float is rounded by nobody but its owner; what fits exactly depends on the values, but for float64.
    return found.name in FLOATS and dtype in FLOATS and (found != np.float64 or dtype == "float64")


def _advice(found: np.dtype[Any], dtype: str) -> str:
    if found == np.float64 and dtype in FLOATS:
        rounded = (
            'with the option float64, "float32" rounds it' if dtype == "float32" else f".astype({dtype!r}) rounds it"
        )
        return f"; {rounded}, a schema with Feature('float64', ..., encoding='raw') keeps it"
    return ""


def _changed(array: NDArray[Any], converted: NDArray[Any], dtype: str) -> NDArray[np.bool_]:
    if array.dtype.kind == "b":
        return np.zeros(0, np.bool_)
    if array.dtype.kind in "iu":
        if dtype in FLOATS:
            most = 1 << _WHOLE_BITS[dtype]
            return _outside(array, -most, most)
        limits = np.iinfo(dtype)
        return _outside(array, int(limits.min), int(limits.max))
    wide = converted.astype(array.dtype)
    return np.asarray((wide != array) & ~(np.isnan(wide) & np.isnan(array)))


def _outside(array: NDArray[Any], least: int, most: int) -> NDArray[np.bool_]:
    own = np.iinfo(array.dtype)  # Python compares what NumPy would first have to convert
    below = array < least if least > own.min else np.zeros((), np.bool_)
    above = array > most if most < own.max else np.zeros((), np.bool_)
    return np.asarray(below | above)


def _overflowed(array: NDArray[Any], converted: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.isinf(converted) & ~np.isinf(array))


def as_column(name: str, values: Any) -> Any:
    """Return a list of rows as it is, and all else as an array or a column."""
    if isinstance(values, Column | list):
        return values
    if isinstance(values, tuple):
        return list(values)
    if is_arrow(values) and not isinstance(values, np.ndarray):
        return from_arrow(import_extra("pyarrow", "arrow", "writing Arrow data").table({name: values}))[name]
    if isinstance(values, np.ma.MaskedArray):
        return unmasked(values)
    array = as_array(values)
    if array.ndim == 0:
        raise TypeError(f"a column has rows, found {type(values).__name__}: column {name!r}")
    return array


def is_arrow(data: Any) -> bool:
    """Whether an object speaks Arrow."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
