"""Converts arguments of operations to arrays and tensors, with TensorFlow's rules for dtypes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError, ResourceExhaustedError
from penstock.tf.tensors.dtypes import DType, as_dtype, float32, int32, int64, of_numpy, string
from penstock.tf.tensors.shape import ShapeLike
from penstock.tf.tensors.tensor import Tensor

_INT32 = 1 << 31
# Tensors of up to this many bytes are allocated without a look at the free memory.
_SMALL_BYTES = 1 << 28


def as_array(value: Any, dtype: Any = None) -> NDArray[Any]:
    """Return the value as an array. A tensor keeps its dtype: asking for another one raises ValueError."""
    if isinstance(value, Tensor):
        array = value._array
        if dtype is not None and of_numpy(array.dtype) != as_dtype(dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype {value.dtype.name}"
            )
        return array
    wanted = None if dtype is None else as_dtype(dtype)
    # Fast path for the usual constants.
    if type(value) is float and (wanted is None or wanted.is_floating):
        return np.array(value, (wanted or float32).numpy)
    if type(value) is int and -_INT32 <= value < _INT32 and (wanted is None or wanted.is_integer or wanted.is_floating):
        return np.array(value, np.int32 if wanted is None else np.int64).astype((wanted or int32).numpy, copy=False)
    if isinstance(value, np.ndarray | np.generic):
        return _from_numpy(np.asarray(value), wanted)
    if value is None:
        raise ValueError("Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.")
    if hasattr(value, "__array__"):  # a tensor of another library
        return _from_numpy(np.asarray(value), wanted)
    return _from_python(value, wanted)


def as_tensor(value: Any, dtype: Any = None) -> Tensor:
    """Return the value as a tensor."""
    return value if type(value) is Tensor and dtype is None else Tensor(as_array(value, dtype))


def as_arrays_of_one_dtype(values: Iterable[Any]) -> list[NDArray[Any]]:
    """Return the values as arrays of one dtype: that of the first tensor among them, else of the first value."""
    values = list(values)
    leader = next((value for value in values if isinstance(value, Tensor)), values[0] if values else None)
    if leader is None:
        return []
    dtype = of_numpy(as_array(leader).dtype)
    return [as_array(value, dtype) for value in values]


def as_shape(shape: ShapeLike | Tensor | NDArray[Any]) -> tuple[int, ...]:
    """Return sizes, of which one may be -1, as integers."""
    if isinstance(shape, Tensor | np.ndarray):
        return tuple(int(size) for size in np.asarray(shape).ravel())
    if isinstance(shape, int | np.integer):
        return (int(shape),)
    if shape is None:
        raise ValueError("the shape is missing")
    if any(size is None for size in shape):
        raise ValueError(f"all dimensions must be known, found {shape}")
    return tuple(int(size) for size in shape if size is not None)


def new_shape(sizes: Iterable[int], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Return the shape of a tensor that is about to be allocated; raise if there is not enough memory.

    Sizes may come from a damaged record, so they are checked before memory is allocated.
    """
    shape = tuple(sizes)
    if any(size < 0 for size in shape):
        raise InvalidArgumentError(f"Dimension {min(shape)} must be >= 0")
    count = math.prod(shape)
    if count >= 1 << 63:
        raise InvalidArgumentError(f"Shape {list(shape)} would have more than 2**63 - 1 elements")
    needed = count * dtype.itemsize
    if needed > _SMALL_BYTES and needed > (left := _memory_left()):
        raise ResourceExhaustedError(
            f"OOM when allocating a tensor of shape {list(shape)} and {dtype}: it takes {needed >> 20} MiB, and "
            f"{left >> 20} MiB are free"
        )
    return shape


def _memory_left() -> int:
    """Return the free memory in bytes, of the machine or of the container."""
    left = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        left = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    with suppress(OSError, ValueError):  # there is no limit, or it is "max"
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        left = min(left, limit - used)
    return left


def as_bytes(value: Any) -> bytes:
    """Return a scalar string as bytes."""
    if type(value) is bytes:
        return value
    array = as_array(value)
    if array.dtype != object:
        raise TypeError(f"expected a string, found {of_numpy(array.dtype).name}")
    if array.ndim:
        raise ValueError(f"expected a scalar, found a tensor of shape {array.shape}")
    found: Any = array[()]
    return bytes(found)


def object_array(values: Iterable[Any], shape: tuple[int, ...]) -> NDArray[np.object_]:
    """Return an array of Python objects; np.array would look into them."""
    items = list(values)
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)


def _from_numpy(array: NDArray[Any], wanted: DType | None) -> NDArray[Any]:
    if array.dtype.kind in "SUTO":
        if wanted not in (None, string):
            raise TypeError(f"Cannot convert {array.dtype} to a tensor of dtype {wanted}")
        if array.dtype.kind == "O" and all(type(item) is bytes for item in array.flat):
            return array
        return object_array(map(_encoded, array.ravel().tolist()), array.shape)
    if wanted is None:
        of_numpy(array.dtype)  # raises if there is no such dtype
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if wanted == string:
        raise TypeError(f"Cannot convert {array.dtype} to a tensor of dtype string")
    return cast_array(array, wanted)


def cast_array(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Convert numbers as C does, without warnings; out-of-range integers are as on x86."""
    with np.errstate(all="ignore"):
        return array.astype(dtype.numpy, copy=False)


def _from_python(value: Any, wanted: DType | None) -> NDArray[Any]:
    leaves = list(_leaves(value))
    kinds = {_kind(leaf) for leaf in leaves}
    if "tensor" in kinds:
        parts = as_arrays_of_one_dtype(value) if wanted is None else [as_array(item, wanted) for item in value]
        if len({part.shape for part in parts}) > 1:
            raise ValueError("Can't convert non-rectangular Python sequence to Tensor.")
        return np.stack(parts)
    found = _inferred(leaves, kinds)
    dtype = wanted or found
    if not _converts_to(dtype, found) and leaves:
        raise TypeError(f"Cannot convert {value!r} to a tensor of dtype {dtype.name}")
    shape = _shape_of(value)
    if dtype == string:
        return object_array(map(_encoded, leaves), shape)
    if dtype.is_integer:  # narrow dtypes wrap around
        return (
            np.array(leaves, np.int64 if found != as_dtype("uint64") else np.uint64).astype(dtype.numpy).reshape(shape)
        )
    with np.errstate(over="ignore"):
        return np.array(leaves).astype(dtype.numpy).reshape(shape)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | range):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, np.ndarray):
        yield from value.ravel()
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Tensor | np.generic):
        for item in value:  # for example a TensorShape
            yield from _leaves(item)
    else:
        yield value


def _shape_of(value: Any) -> tuple[int, ...]:
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    if isinstance(value, str | bytes | bytearray | np.generic) or not isinstance(value, Iterable):
        return ()
    shapes = [_shape_of(item) for item in value]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.")
    return (len(shapes), *shapes[0]) if shapes else (0,)


def _kind(leaf: Any) -> str:
    match leaf:
        case Tensor():
            return "tensor"
        case bool() | np.bool_():
            return "bool"
        case int() | np.integer():
            return "int"
        case np.float64():  # it is a subclass of float
            return "float64"
        case float() | np.floating():
            return "float"
        case complex() | np.complexfloating():
            return "complex"
        case str() | bytes() | bytearray():
            return "string"
    raise ValueError(f"Attempt to convert a value with an unsupported type ({type(leaf)}) to a Tensor.")


def _inferred(leaves: list[Any], kinds: set[str]) -> DType:
    if not leaves:
        return float32
    numbers = kinds - {"string", "bool"}
    if len(kinds & {"string", "bool"}) + bool(numbers) > 1 and not (
        kinds == {"int", "bool"} and _kind(leaves[0]) == "int"
    ):
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    if kinds == {"string"} or kinds == {"bool"}:
        return as_dtype(kinds.pop())
    if "complex" in kinds:
        return as_dtype("complex128")
    if "float64" in kinds:
        return as_dtype("float64")
    if "float" in kinds:
        return float32
    low, high = min(leaves), max(leaves)
    if low >= -_INT32 and high < _INT32:
        return int32
    if low >= -(1 << 63) and high < 1 << 63:
        return int64
    if low >= 0 and high < 1 << 64:
        return as_dtype("uint64")
    raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.")


def _converts_to(dtype: DType, found: DType) -> bool:
    """Return whether Python values of an inferred dtype convert to a dtype."""
    if dtype == found:
        return True
    if dtype.is_integer:
        return found.is_integer or found.is_bool
    if dtype.is_floating:
        return found.is_integer or found.is_floating or found.is_bool
    return dtype.is_complex and found.is_numeric


def _encoded(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    raise TypeError(f"Cannot convert {type(value).__name__} to a tensor of dtype string")
