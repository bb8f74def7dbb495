"""Runs operations on TensorFlow's own tensors in TensorFlow, so that gradients flow through them and graphs hold them.

Data code meets such tensors where it continues into training, as in a loop with a ``GradientTape``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from penstock.tf.tensors.dtypes import DType


def is_tensorflow_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of TensorFlow; before TensorFlow is imported, none is."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and bool(getattr(tensorflow, "is_tensor", _never)(value))


def call_tensorflow(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the operation of TensorFlow that is called ``name``.

    Returns:
        The result, or NotImplemented where no argument is a tensor of TensorFlow or TensorFlow has no such operation.
    """
    if not name or "tensorflow" not in sys.modules:
        return NotImplemented
    if not any(map(is_tensorflow_tensor, _flat([*args, *kwargs.values()]))):
        return NotImplemented
    operation = _find(name)
    if operation is None:
        return NotImplemented
    return operation(*map(_as_argument, args), **{key: _as_argument(value) for key, value in kwargs.items()})


def _find(name: str) -> Any:
    tensorflow: Any = sys.modules["tensorflow"]
    for root in (tensorflow, tensorflow.math):
        found = root
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    return None


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


def _as_argument(value: Any) -> Any:
    return value.name if isinstance(value, DType) else value


def _never(value: Any) -> bool:
    """Replace ``is_tensor`` while TensorFlow is still being imported."""
    return False
