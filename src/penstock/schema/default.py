"""Check default values and store them as nested tuples of Python scalars."""

from __future__ import annotations

import enum
import math
from typing import Any, Final

import numpy as np

from penstock.errors import SchemaError
from penstock.schema.dtype import FLOATS, INTEGERS


class NoDefault(enum.Enum):
    """The type of :data:`NO_DEFAULT`."""

    NO_DEFAULT = enum.auto()

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = NoDefault.NO_DEFAULT
"""Marks a feature without a default; None, 0 and b"" could be defaults."""

# NaN is not equal to itself, but tuples compare by identity first: sharing one NaN makes equal features equal.
_NAN: Final = float("nan")


def freeze_default(value: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """Return ``value`` as nested tuples of Python scalars; raise if it does not fit the dtype and shape."""
    if isinstance(value, np.ndarray | np.generic) or (hasattr(value, "tolist") and hasattr(value, "shape")):
        value = value.tolist()
    return _freeze(value, dtype, shape, shape)


def _freeze(value: Any, dtype: str, left: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    if not left:
        return _scalar(value, dtype)
    if not isinstance(value, list | tuple) or len(value) != left[0]:
        found = f"{len(value)} items" if isinstance(value, list | tuple) else type(value).__name__
        raise SchemaError(
            f"default must have the shape of the feature: expected {left[0]} items at level {len(shape) - len(left)}"
            f" of shape {shape}, found {found}"
        )
    return tuple(_freeze(item, dtype, left[1:], shape) for item in value)


def _scalar(value: Any, dtype: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case bool() if dtype == "bool":
            return value
        case bool():
            pass
        case bytes() if dtype == "bytes":
            return bytes(value)
        case str() if dtype == "str":
            return _text(value)
        case int() if dtype in INTEGERS:
            limits = np.iinfo(dtype)
            if not limits.min <= value <= limits.max:
                raise SchemaError(f"the default is out of range: {dtype} holds {limits.min} to {limits.max}")
            return int(value)
        case int() | float() if dtype in FLOATS:
            return _float(value, dtype)
    raise SchemaError(f"the default has the wrong type: expected {dtype}, found {type(value).__name__}")


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SchemaError("the default cannot be encoded as UTF-8") from None
    return str(value)


def _float(value: float, dtype: str) -> float:
    # bfloat16 has the range of float32; the default is rounded when it is used.
    kind = np.float32 if dtype == "bfloat16" else np.dtype(dtype).type
    try:
        exact = float(value)
    except OverflowError:
        exact = math.inf if value > 0 else -math.inf
    if math.isnan(exact):
        return _NAN
    with np.errstate(over="ignore"):
        rounded = kind(exact)
    if np.isinf(rounded) and not (math.isinf(exact) and value == exact):
        raise SchemaError(f"the default is out of range: {dtype} holds at most {np.finfo(kind).max}")
    # The shortest text of the rounded value: 0.1 stays 0.1, and equal defaults compare equal.
    return float(str(rounded))
