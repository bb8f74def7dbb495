"""``tf.io.parse_example`` and its relatives: parse Examples and SequenceExamples to tensors."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import import_extra
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.io.features import FixedLenSequenceFeature, spec_of_feature, spec_of_many
from penstock.tf.io.parse_plan import ExamplePlan, RawBytes, SequencePlan
from penstock.tf.registry import UnknownStructureError, operation
from penstock.tf.tensors.batch_values import EqualStrings, RecordRows, Stacked, stack_rows
from penstock.tf.tensors.convert import as_array, object_array
from penstock.tf.tensors.dtypes import int64, of_numpy
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.tensor import Tensor

_T = TypeVar("_T")

# Functions passed to map() often create their descriptions on every call: equal ones are compiled once.
_MAX_PLANS = 256
_plans: dict[Any, Any] = {}
_by_identity: dict[Any, tuple[ExamplePlan, list[Any]]] = {}


# Feature descriptions are not TensorFlow's own, so these operations never run there: they have no ``tensorflow_name``.


def _parse_batch(operation: Any, serialized: Any, features: Any, *rest: Any, **options: Any) -> Any:
    if isinstance(serialized, RecordRows):
        records = serialized.records
    elif isinstance(serialized, Stacked) and serialized.array.ndim == 1 and serialized.array.dtype == object:
        records = serialized.array.tolist()
    else:
        return NotImplemented
    return {key: _batch_value(value) for key, value in example_plan(features).rows(records).items()}


def _batch_value(value: Any) -> Any:
    if isinstance(value, list):
        return stack_rows(value)
    return EqualStrings(value.raw) if isinstance(value, RawBytes) else Stacked(value)


def _structure_of_features(serialized: Any, features: Any = None, *rest: Any, **options: Any) -> Any:
    return _keys_of(features)


def _keys_of(features: Any) -> dict[str, None]:
    if not isinstance(features, Mapping):
        raise UnknownStructureError("a feature description that is no dict")
    return dict.fromkeys(features)


def _parse_single_example_spec(
    operation: Any, serialized: Any, features: Mapping[str, Any], *rest: Any, **options: Any
) -> dict[str, Any]:
    return {key: spec_of_feature(feature) for key, feature in features.items()}


def _parse_example_spec(
    operation: Any, serialized: Any, features: Mapping[str, Any], *rest: Any, **options: Any
) -> dict[str, Any]:
    if serialized.shape.rank == 0:
        return _parse_single_example_spec(operation, serialized, features)
    (count,) = serialized.shape
    return {key: spec_of_many(feature, [count]) for key, feature in features.items()}


@operation(
    "io.parse_example",
    batch=_parse_batch,
    spec=_parse_example_spec,
    results=_structure_of_features,
    takes_stored_strings=True,
    tensorflow_name="",
)
def parse_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> Any:
    """Parse a vector of Examples to tensors with one more dimension, or a single Example."""
    records = _records(serialized)
    plan = example_plan(features)
    return plan.batch(records.tolist()) if records.ndim else plan.single(records.item())


@operation(
    "io.parse_single_example",
    batch=_parse_batch,
    spec=_parse_single_example_spec,
    results=_structure_of_features,
    takes_stored_strings=True,
    tensorflow_name="",
)
def parse_single_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse one Example."""
    record = serialized if type(serialized) is bytes else _scalar(serialized)
    return example_plan(features).single(record)


def _structure_of_sequences(
    serialized: Any, context_features: Any = None, sequence_features: Any = None, *rest: Any, **options: Any
) -> Any:
    context, lists = _keys_of(context_features or {}), _keys_of(sequence_features or {})
    dense = {key: None for key in lists if isinstance(sequence_features[key], FixedLenSequenceFeature)}
    return context, lists, dense


def _structure_of_one_sequence(*args: Any, **options: Any) -> Any:
    return _structure_of_sequences(*args, **options)[:2]


def _parse_sequence_example_spec(
    operation: Any,
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    *rest: Any,
    **options: Any,
) -> Any:
    (count,) = serialized.shape
    sequences = sequence_features or {}
    lists = {key: spec_of_many(feature, [count], inner=[None]) for key, feature in sequences.items()}
    dense = [key for key, feature in sequences.items() if isinstance(feature, FixedLenSequenceFeature)]
    lengths = {key: TensorSpec([count], int64) for key in dense}
    return _parse_example_spec(operation, serialized, context_features or {}), lists, lengths


def _parse_single_sequence_example_spec(
    operation: Any,
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    *rest: Any,
    **options: Any,
) -> Any:
    lists = {key: spec_of_many(feature, [None]) for key, feature in (sequence_features or {}).items()}
    for key, feature in (sequence_features or {}).items():
        if isinstance(feature, FixedLenSequenceFeature):
            lists[key] = spec_of_feature(feature)
    return _parse_single_example_spec(operation, serialized, context_features or {}), lists


@operation(
    "io.parse_sequence_example", spec=_parse_sequence_example_spec, results=_structure_of_sequences, tensorflow_name=""
)
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


@operation(
    "io.parse_single_sequence_example",
    spec=_parse_single_sequence_example_spec,
    results=_structure_of_one_sequence,
    tensorflow_name="",
)
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
    """Return the compiled plan of a feature description."""
    if not features:
        raise ValueError("Argument `features` cannot be None or empty.")
    # Most descriptions consist of the same objects every time. An entry keeps them alive, so that ids stay valid.
    identity = tuple(features), tuple(map(id, features.values()))
    if (entry := _by_identity.get(identity)) is not None:
        return entry[0]
    plan = _cached(_plans, _hashable(features), lambda: ExamplePlan(features))
    _cached(_by_identity, identity, lambda: (plan, list(features.values())))
    return plan


def sequence_plan(context: Mapping[str, Any] | None, sequence: Mapping[str, Any] | None) -> SequencePlan:
    """Return the compiled plan of a feature description of SequenceExamples."""
    if not context and not sequence:
        raise ValueError("Both `context_features` and `sequence_features` arguments are None or empty.")
    key = (_hashable(context or {}), _hashable(sequence or {}))
    return _cached(_plans, key, lambda: SequencePlan(context or {}, sequence or {}))


@operation("io.decode_json_example")
def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Convert Examples in protobuf's JSON to serialized Examples."""
    json_format = import_extra("google.protobuf.json_format", "protobuf", "tf.io.decode_json_example")
    example = importlib.import_module("penstock.tf.train").Example
    texts = as_array(json_examples)
    try:
        records = [json_format.Parse(text, example()).SerializeToString() for text in texts.flat]
    except json_format.ParseError as error:
        raise InvalidArgumentError(f"Error while parsing JSON: {error}") from error
    return Tensor(object_array(records, texts.shape))


def _cached(cache: dict[Any, Any], key: Any, make: Callable[[], _T]) -> _T:
    found: _T | None = cache.get(key)
    if found is None:
        found = make()
        if len(cache) >= _MAX_PLANS:
            cache.clear()
        cache[key] = found
    return found


def _hashable(value: Any) -> Any:
    """Return a hashable key of a feature description; it includes types, because 1 equals True and 1.0."""
    if isinstance(value, Mapping):
        return tuple((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_hashable, value))
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
