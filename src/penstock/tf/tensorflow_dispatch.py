"""Operations on TensorFlow's own tensors are made by TensorFlow: gradients flow through them, and graphs hold them.

Data code meets such tensors where it goes on into training, as in a loop with a ``GradientTape``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from penstock.tf.tensors.dtypes import DType


def is_tensorflow_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of TensorFlow; nobody has one before it is imported."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and bool(getattr(tensorflow, "is_tensor", _never)(value))


def call_tensorflow(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make an operation on tensors of TensorFlow; NotImplemented where no argument is one, or it has no such."""
    if "tensorflow" not in sys.modules or not any(map(is_tensorflow_tensor, _flat([*args, *kwargs.values()]))):
        return NotImplemented
    operation = _find(name.removeprefix("operator."))
    if operation is None:
        return NotImplemented
    return operation(*map(_for_them, args), **{key: _for_them(value) for key, value in kwargs.items()})


def _find(name: str) -> Any:
    """Return an operation of TensorFlow. What parses stays here: it goes by descriptions of features that are ours."""
    if name.startswith("io.parse_"):
        return None
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


def _for_them(value: Any) -> Any:
    return value.name if isinstance(value, DType) else value


def _never(value: Any) -> bool:
    """Stand in while TensorFlow is being imported."""
    return False
