"""Python functions as operations, and control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from penstock.tf.errors import InvalidArgumentError, error_of_python
from penstock.tf.registry import invoke, operation
from penstock.tf.tensors.convert import as_tensor, cast_array
from penstock.tf.tensors.dtypes import as_dtype
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import filled, leaves
from penstock.tf.tensors.tensor import Tensor

in_dataset: ContextVar[bool] = ContextVar("in_dataset", default=False)
"""Whether a function of a dataset is running; in TensorFlow it would be a graph."""


def _structure_of_outputs(func: Any, inp: Any, Tout: Any, *rest: Any, **options: Any) -> Any:
    return [] if Tout is None else [None] * len(Tout) if isinstance(Tout, list | tuple) else None


def _spec_of_outputs(operation: Any, func: Any, inp: Any, Tout: Any, *rest: Any, **options: Any) -> Any:
    if Tout is None or isinstance(Tout, list | tuple):
        return [TensorSpec(None, dtype) for dtype in Tout or ()]
    return TensorSpec(None, Tout)


def py_function(
    func: Callable[..., Any] | None = None, inp: Sequence[Any] | None = None, Tout: Any = None, name: str | None = None
) -> Any:
    """Call a Python function on tensors, or with ``Tout`` alone decorate one that is called so."""
    if func is None:
        return lambda decorated: lambda *args: _py_function(decorated, list(args), Tout)
    return _py_function(func, [] if inp is None else inp, Tout)


@operation("py_function", spec=_spec_of_outputs, results=_structure_of_outputs, effects="python")
def _py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any) -> Any:
    """Call a Python function on tensors; its exceptions become TensorFlow errors."""
    given = [as_tensor(value) for value in inp]
    try:
        return _as_outputs(func(*given), Tout, cast=True)
    except Exception as error:
        raise error_of_python(error) from error


@operation("numpy_function", spec=_spec_of_outputs, results=_structure_of_outputs, effects="python")
def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Call a Python function on arrays; in a dataset, its exceptions become TensorFlow errors."""
    given = [as_tensor(value).numpy() for value in inp]
    try:
        result = func(*given)
    except Exception as error:
        if not in_dataset.get():
            raise
        raise error_of_python(error) from error
    return _as_outputs(result, Tout, cast=False)


def _as_outputs(result: Any, dtypes: Any, *, cast: bool) -> Any:
    if dtypes is None:
        return []
    if not isinstance(dtypes, list | tuple):
        return _as_output(result, dtypes, cast=cast)
    if not dtypes and result is None:
        return []
    results = result if isinstance(result, list | tuple) else [result]
    if len(results) != len(dtypes):
        raise ValueError(f"expected {len(dtypes)} results, found {len(results)}")
    return [_as_output(one, dtype, cast=cast) for one, dtype in zip(results, dtypes, strict=True)]


def _as_output(result: Any, dtype: Any, *, cast: bool) -> Tensor:
    wanted = as_dtype(dtype)
    is_tensor = isinstance(result, Tensor)
    if cast and is_tensor and result.dtype != wanted:
        return Tensor(cast_array(result._array, wanted))
    found = as_tensor(result) if is_tensor or isinstance(result, np.ndarray | np.generic) else as_tensor(result, wanted)
    if found.dtype != wanted:
        raise InvalidArgumentError(
            f"expected a function that returns {wanted.name}, found {found.dtype.name}: change Tout, or cast the result"
        )
    return found


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Call one of two functions, depending on a condition."""
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError(f"The {'false' if callable(true_fn) else 'true'}_fn must be callable.")
    return true_fn() if pred else false_fn()


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Call a function on its own results as long as a condition holds."""
    values, left = loop_vars, None if maximum_iterations is None else int(maximum_iterations)
    while left != 0 and cond(*values):
        results = body(*values)
        values = tuple(results) if isinstance(results, list | tuple) else (results,)
        left = None if left is None else left - 1
    return values


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Call the function of the first condition that holds, else ``default``."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    for condition, function in pairs:
        if condition:
            return function()
    if default is None:
        raise InvalidArgumentError("None of the conditions evaluated as True")
    return default()


def map_fn(fn: Callable[..., Any], elems: Any, dtype: Any = None, **options: Any) -> Any:
    """Stack the results of a function of each slice along the first dimension."""
    like = dtype if options.get("fn_output_signature") is None else options["fn_output_signature"]
    parts = [list(part) for part in leaves(elems)]
    results = [fn(filled(elems, rows)) for rows in zip(*parts, strict=True)]
    if not results:
        specs = [TensorSpec(None, part.dtype) for part in leaves(elems)] if like is None else leaves(like)
        return filled(elems if like is None else like, [as_tensor([], getattr(one, "dtype", one)) for one in specs])
    columns = [invoke("stack", list(column)) for column in zip(*map(leaves, results), strict=True)]
    return filled(results[0], columns)
