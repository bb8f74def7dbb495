"""Python functions as operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.tf.convert import as_tensor, cast_array
from penstock.tf.dtypes import as_dtype
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.operation import operation
from penstock.tf.tensor import Tensor


@operation("py_function")
def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """Call a Python function on tensors."""
    return _as_outputs(func(*map(as_tensor, inp)), Tout, cast=True)


@operation("numpy_function")
def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Call a Python function on arrays."""
    return _as_outputs(func(*(as_tensor(value).numpy() for value in inp)), Tout, cast=False)


def _as_outputs(result: Any, dtypes: Any, *, cast: bool) -> Any:
    if not isinstance(dtypes, list | tuple):
        return _as_output(result, dtypes, cast=cast)
    results = result if isinstance(result, list | tuple) else [result]
    if len(results) != len(dtypes):
        raise ValueError(f"expected {len(dtypes)} results, found {len(results)}")
    return [_as_output(one, dtype, cast=cast) for one, dtype in zip(results, dtypes, strict=True)]


def _as_output(result: Any, dtype: Any, *, cast: bool) -> Tensor:
    wanted = as_dtype(dtype)
    if cast and isinstance(result, Tensor) and result.dtype != wanted:
        return Tensor(cast_array(result._array, wanted))
    found = as_tensor(result) if isinstance(result, Tensor | np.ndarray | np.generic) else as_tensor(result, wanted)
    if found.dtype != wanted:
        raise InvalidArgumentError(f"the function was to answer {wanted.name}, and answered {found.dtype.name}")
    return found
