"""Operations that change the dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.tf.convert import as_array, as_tensor, cast_array
from penstock.tf.dtypes import as_dtype, of_numpy
from penstock.tf.errors import UnimplementedError
from penstock.tf.operation import operation
from penstock.tf.tensor import Tensor


@operation("cast")
def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Convert to another dtype."""
    wanted = as_dtype(dtype)
    array = as_array(x)
    if of_numpy(array.dtype) == wanted:
        return as_tensor(x)
    if array.dtype == object or wanted.name == "string":
        raise UnimplementedError(f"Cast {of_numpy(array.dtype).name} to {wanted.name} is not supported")
    if array.dtype.kind == "c" and not wanted.is_complex:
        array = array.real
    return Tensor(cast_array(array, wanted))


@operation("saturate_cast")
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Convert to another dtype; what it does not hold becomes its smallest or largest value."""
    wanted = as_dtype(dtype)
    array = as_array(value)
    found = of_numpy(array.dtype)
    if found.is_numeric and not found.is_complex and (wanted.is_integer or wanted.is_floating):
        number = array.dtype.type
        low, high = number(max(found.min, wanted.min)), number(min(found.max, wanted.max))
        if (
            found.is_floating and wanted.is_integer and int(high) > wanted.max
        ):  # rounded up: the next number below is the largest that fits
            high = np.nextafter(high, number(0))
        array = np.clip(array, low, high)
    return Tensor(np.asarray(cast_array(array, wanted)))
