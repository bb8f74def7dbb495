"""Expressions in ``tf``, evaluated with TensorFlow and with ``penstock.tf``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

REFUSED = "refused"


def evaluate(tf: Any, source: str, names: dict[str, Any]) -> Any:
    """Evaluate source text with tensors as names; return plain values, or REFUSED if it raises."""
    values = {name: tf.constant(value) if isinstance(value, np.ndarray) else value for name, value in names.items()}
    try:
        helpers = {"outcomes": partial(outcomes, tf), "raising": raising}
        return plain(tf, eval(source, {"tf": tf, "np": np, **helpers, **values}))
    except (tf.errors.OpError, TypeError, ValueError, AttributeError, UnicodeDecodeError):
        return REFUSED


def outcomes(tf: Any, dataset: Any, most: int = 24) -> list[Any]:
    """Return the elements of a dataset in order, with the name of an error for each element that raises one."""
    elements, found = iter(dataset), list[Any]()
    while len(found) < most:
        try:
            found.append(next(elements))
        except StopIteration:
            return [*found, "end"]
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
    return found


def raising(error: type[Exception], bad: int) -> Callable[[Any], Any]:
    """Return a Python function of numbers that raises an error for one of them."""

    def function(number: Any) -> Any:
        if int(number) == bad:
            raise error("bad")
        return np.int64(number)

    return function


def plain(tf: Any, value: Any) -> Any:
    """Convert tensors, also in containers, to tuples of their kind, dtype and arrays."""
    if isinstance(value, tf.SparseTensor):
        parts = [part.numpy() for part in (value.indices, value.values, value.dense_shape)]
        return ("sparse", value.dtype.name, *parts)
    if isinstance(value, tf.RaggedTensor):
        splits = [part.numpy() for part in value.nested_row_splits]
        return ("ragged", value.dtype.name, value.shape.as_list(), value.flat_values.numpy(), *splits)
    if isinstance(value, tf.Tensor):
        return "dense", value.dtype.name, value.shape.as_list(), value.numpy()
    if isinstance(value, dict):
        return {key: plain(tf, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(tf, item) for item in value]
    if isinstance(value, tf.DType):
        return value.name
    if isinstance(value, tf.TensorShape):
        return value.as_list()
    return value


def same(ours: Any, theirs: Any, *, tolerance: float = 0.0) -> bool:
    """Return whether two plain values are equal, NaN included; numbers within a relative tolerance."""
    if isinstance(theirs, dict):
        return (
            isinstance(ours, dict)
            and ours.keys() == theirs.keys()
            and all(same(ours[key], theirs[key], tolerance=tolerance) for key in theirs)
        )
    if isinstance(theirs, list | tuple):
        return (
            isinstance(ours, list | tuple)
            and len(ours) == len(theirs)
            and all(same(a, b, tolerance=tolerance) for a, b in zip(ours, theirs, strict=True))
        )
    if isinstance(theirs, np.ndarray | np.generic):
        return _same_array(np.asarray(ours), np.asarray(theirs), tolerance)
    return type(ours) is type(theirs) and ours == theirs


def _same_array(ours: Any, theirs: Any, tolerance: float) -> bool:
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    if theirs.dtype == object:
        return bool(ours.tolist() == theirs.tolist())
    if tolerance and theirs.dtype.kind == "f":
        return bool(np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True))
    return bool(np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind in "fc"))
