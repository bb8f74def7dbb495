"""The structure of what operations answer, which is known before there are values: one tensor, or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.tf.io.features import FixedLenSequenceFeature
from penstock.tf.ops.reductions import Unique
from penstock.tf.tensors.tensor import Tensor


class UnknownStructureError(Exception):
    """It takes values to tell how many tensors an operation answers."""


def structure_of_result(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what an operation answers, with None for each tensor."""
    several = _SEVERAL.get(name)
    return None if several is None else several(*args, **kwargs)


def _parsed(serialized: Any, features: Any = None, *names: Any, **options: Any) -> Any:
    return _columns(features)


def _parsed_sequences(
    serialized: Any, context_features: Any = None, sequence_features: Any = None, *names: Any, **options: Any
) -> Any:
    context, lists = _columns(context_features or {}), _columns(sequence_features or {})
    dense = {key: None for key in lists if isinstance(sequence_features[key], FixedLenSequenceFeature)}
    return context, lists, dense


def _parsed_sequence(*args: Any, **options: Any) -> Any:
    return _parsed_sequences(*args, **options)[:2]


def _columns(features: Any) -> dict[str, None]:
    if not isinstance(features, Mapping):
        raise UnknownStructureError("a feature description that is no dict")
    return dict.fromkeys(features)


def _unstacked(value: Any, num: int | None = None, *place: Any, **options: Any) -> Any:
    if not isinstance(num, int):
        raise UnknownStructureError("tf.unstack without num, which asks for a size")
    return [None] * num


def _split(value: Any, num_or_size_splits: Any, *place: Any, **options: Any) -> Any:
    if isinstance(num_or_size_splits, int):
        return [None] * num_or_size_splits
    if isinstance(num_or_size_splits, list | tuple) or type(num_or_size_splits) is Tensor:
        return [None] * len(num_or_size_splits)
    raise UnknownStructureError("tf.split in a number of parts that is a tensor")


def _of_python(func: Any, inp: Any, Tout: Any, *rest: Any, **options: Any) -> Any:
    return [None] * len(Tout) if isinstance(Tout, list | tuple) else None


def _next_element(iterator: Any) -> Any:
    if iterator.structure is None:
        raise UnknownStructureError("the iterator of a dataset whose elements are not known before they are made")
    return iterator.structure


_PAIR: Any = (None, None)

_SEVERAL: dict[str, Callable[..., Any]] = {
    "io.parse_single_example": _parsed,
    "io.parse_example": _parsed,
    "io.parse_sequence_example": _parsed_sequences,
    "io.parse_single_sequence_example": _parsed_sequence,
    "unstack": _unstacked,
    "split": _split,
    **dict.fromkeys(("py_function", "numpy_function"), _of_python),
    "data.next_element": _next_element,
    "unique": lambda *args, **options: Unique(*_PAIR),
}
