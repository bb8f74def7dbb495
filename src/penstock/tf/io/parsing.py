"""``tf.io.parse_example`` and its relatives: serialized Examples and SequenceExamples to tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.io.parse_plan import ExamplePlan, SequencePlan
from penstock.tf.registry import operation
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import of_numpy
from penstock.tf.tensors.tensor import Tensor

_Made = TypeVar("_Made")

# Functions given to map() write their descriptions anew on every call: what is equal is compiled once.
_MOST_PLANS = 256
_plans: dict[Any, Any] = {}
_by_identity: dict[Any, tuple[ExamplePlan, list[Any]]] = {}


@operation("io.parse_example")
def parse_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> Any:
    """Parse Examples: a vector of them to tensors with one dimension more, a scalar as it is."""
    records = _records(serialized)
    plan = example_plan(features)
    return plan.batch(records.tolist()) if records.ndim else plan.single(records.item())


@operation("io.parse_single_example")
def parse_single_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse one Example."""
    record = serialized if type(serialized) is bytes else _scalar(serialized)
    return example_plan(features).single(record)


@operation("io.parse_sequence_example")
def parse_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse SequenceExamples: context, lists, and the lengths of dense lists."""
    records = _records(serialized)
    plan = sequence_plan(context_features, sequence_features)
    single = not records.ndim
    return plan.parse([records.item()] if single else records.tolist(), single=single)


@operation("io.parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one SequenceExample: context and lists."""
    plan = sequence_plan(context_features, sequence_features)
    return plan.parse([_scalar(serialized)], single=True)[:2]


def example_plan(features: Mapping[str, Any]) -> ExamplePlan:
    """Return the plan of a feature description."""
    if not features:
        raise ValueError("Argument `features` cannot be None or empty.")
    # Most descriptions are made of the same objects every time; an entry keeps its own alive, so that ids are theirs.
    identity = tuple(features), tuple(map(id, features.values()))
    if (entry := _by_identity.get(identity)) is not None:
        return entry[0]
    plan = _cached(_plans, _frozen(features), lambda: ExamplePlan(features))
    _cached(_by_identity, identity, lambda: (plan, list(features.values())))
    return plan


def sequence_plan(context: Mapping[str, Any] | None, sequence: Mapping[str, Any] | None) -> SequencePlan:
    """Return the plan of a feature description."""
    if not context and not sequence:
        raise ValueError("Both `context_features` and `sequence_features` arguments are None or empty.")
    key = (_frozen(context or {}), _frozen(sequence or {}))
    return _cached(_plans, key, lambda: SequencePlan(context or {}, sequence or {}))


def _cached(cache: dict[Any, Any], key: Any, make: Callable[[], _Made]) -> _Made:
    found: _Made | None = cache.get(key)
    if found is None:
        found = make()
        if len(cache) >= _MOST_PLANS:
            cache.clear()
        cache[key] = found
    return found


def _frozen(value: Any) -> Any:
    """Return what tells feature descriptions apart; numbers by their type too, for 1 equals True and 1.0."""
    if isinstance(value, Mapping):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_frozen, value))
    if isinstance(value, np.ndarray | Tensor):
        array = np.asarray(value)
        return type(value), array.dtype.str, array.shape, repr(array.tolist())
    return type(value), repr(value) if isinstance(value, float) else value


def _records(serialized: Any) -> NDArray[Any]:
    array = as_array(serialized)
    if array.dtype != object and array.size:
        raise InvalidArgumentError(f"expected serialized Examples, found {of_numpy(array.dtype).name}")
    if array.ndim > 1:
        raise InvalidArgumentError(f"Expected serialized to be a scalar or vector, got shape: {list(array.shape)}")
    return array


def _scalar(serialized: Any) -> bytes:
    array = as_array(serialized)
    if array.ndim:
        raise ValueError(f"Input serialized must be a scalar, found shape {array.shape}")
    record: Any = _records(array)[()]
    return bytes(record)
