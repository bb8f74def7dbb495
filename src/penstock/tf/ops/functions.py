"""Python functions as operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from penstock.tf.convert import as_tensor, cast_array
from penstock.tf.dtypes import as_dtype
from penstock.tf.errors import InvalidArgumentError, error_of_python
from penstock.tf.operation import operation
from penstock.tf.tensor import Tensor

in_dataset: ContextVar[bool] = ContextVar("in_dataset", default=False)
"""Whether a function of a dataset runs, which is a graph in TensorFlow."""


@operation("py_function")
def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """Call a Python function on tensors; what it raises becomes an error of TensorFlow's."""
    given = [as_tensor(value) for value in inp]
    try:
        return _as_outputs(func(*given), Tout, cast=True)
    except Exception as error:
        raise error_of_python(error) from error


@operation("numpy_function")
def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Call a Python function on arrays; in a dataset, what it raises becomes an error of TensorFlow's."""
    given = [as_tensor(value).numpy() for value in inp]
    try:
        result = func(*given)
    except Exception as error:
        if not in_dataset.get():
            raise
        raise error_of_python(error) from error
    return _as_outputs(result, Tout, cast=False)


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
