"""Dtypes: their names, what users may pass for them, and TensorFlow's numbers of them."""

from __future__ import annotations

import difflib
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from penstock.errors import SchemaError, import_extra

TextDtype: TypeAlias = Literal["bytes", "str"]
IntegerDtype: TypeAlias = Literal["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FloatDtype: TypeAlias = Literal["float16", "float32", "float64", "bfloat16"]
TEXT: frozenset[str] = frozenset(get_args(TextDtype))
INTEGERS: frozenset[str] = frozenset(get_args(IntegerDtype))
FLOATS: frozenset[str] = frozenset(get_args(FloatDtype))
DTYPES: frozenset[str] = TEXT | INTEGERS | FLOATS | {"bool"}
DtypeLike: TypeAlias = str | type | np.dtype[Any]
"""What users may pass for a dtype: a name, a Python type or a NumPy dtype."""
FLOAT64_CHOICE = (
    'float64 does not fit a FloatList: with the option float64, choose "float32" (rounded) or "raw" (unchanged)'
)
"""The error message for float64 data without a choice, in functions and on the command line."""
_PYTHON_TYPES: dict[object, str] = {bytes: "bytes", str: "str", bool: "bool", int: "int64", float: "float32"}
# Names in other libraries.
_FOREIGN_NAMES = {"int": "int64", "long": "int64", "float": "float32", "double": "float64", "half": "float16"}
_FOREIGN_NAMES |= {"string": "str", "text": "str", "binary": "bytes", "boolean": "bool"}


def canonical_dtype(dtype: object) -> str:
    """Return the canonical name of a dtype: a name, a Python type, or anything that ``np.dtype`` accepts."""
    if isinstance(dtype, str):
        if dtype in DTYPES:
            return dtype
        close = (
            [_FOREIGN_NAMES[dtype]] if dtype in _FOREIGN_NAMES else difflib.get_close_matches(dtype, sorted(DTYPES), 1)
        )
        hint = f'did you mean "{close[0]}"?' if close else f"one of {', '.join(sorted(DTYPES))}"
        raise SchemaError(f"unknown dtype {dtype[:40]!r}: {hint}")
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype]
    try:
        found = np.dtype(dtype)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        found = None
    if found is None or dtype is None:
        raise SchemaError(f"{dtype!r} is not a dtype: use a name such as 'float32', or a NumPy dtype")
    name = {"S": "bytes", "U": "str"}.get(found.kind, str(found.name))
    if name not in DTYPES:
        raise SchemaError(f"the dtype {name} cannot be stored: use one of {', '.join(sorted(DTYPES))}")
    return name


def numpy_dtype(name: str) -> np.dtype[np.generic]:
    """Return the NumPy dtype of a numeric dtype."""
    if name in TEXT:
        raise SchemaError(f"{name} has no NumPy dtype: its columns are BytesColumns")
    if name == "bfloat16":
        bfloat16: type[np.generic] = import_extra("ml_dtypes", "bfloat16", "the dtype bfloat16").bfloat16
        return np.dtype(bfloat16)
    return np.dtype(name)


class TensorType(NamedTuple):
    """A dtype of TensorFlow."""

    name: str
    number: int
    """Its number in ``TensorProto.dtype``."""
    field: int
    """The field of a TensorProto that lists its values."""
    size: int
    """The size of an element in ``TensorProto.tensor_content``; 0 for strings."""


_TYPES = (
    TensorType("float32", 1, 5, 4),
    TensorType("float64", 2, 6, 8),
    TensorType("int32", 3, 7, 4),
    TensorType("uint8", 4, 7, 1),
    TensorType("int16", 5, 7, 2),
    TensorType("int8", 6, 7, 1),
    TensorType("bytes", 7, 8, 0),
    TensorType("complex64", 8, 9, 8),
    TensorType("int64", 9, 10, 8),
    TensorType("bool", 10, 11, 1),
    TensorType("bfloat16", 14, 13, 2),
    TensorType("uint16", 17, 7, 2),
    TensorType("complex128", 18, 12, 16),
    TensorType("float16", 19, 13, 2),
    TensorType("uint32", 22, 16, 4),
    TensorType("uint64", 23, 17, 8),
)
BY_NUMBER = {type_.number: type_ for type_ in _TYPES}
BY_NAME = {type_.name: type_ for type_ in _TYPES}
