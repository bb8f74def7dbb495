"""What users give as a column: one rule for all that encode or write columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.codec.encode_values import as_array, unmasked
from penstock.columns import Column, from_arrow
from penstock.errors import import_extra


def as_column(name: str, values: Any) -> Any:
    """Answer a list of rows as it is, and all else as an array or a column."""
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
