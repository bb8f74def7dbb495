"""The specs of what parsing answers, by the description of each feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.tf.io.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from penstock.tf.tensors.dtypes import int64
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import UNKNOWN_SPEC, RaggedTensorSpec, SparseTensorSpec, TensorSpec

Specs = dict[str, Any]


def parsed(serialized: Any, features: Mapping[str, Any], *names: Any, **options: Any) -> Specs:
    """Return the specs of one Example's features."""
    return {key: _of_one(feature) for key, feature in features.items()}


def parsed_batch(serialized: Any, features: Mapping[str, Any], *names: Any, **options: Any) -> Specs:
    """Return the specs of the features of many Examples, or of one where a scalar is parsed."""
    if serialized.shape.rank == 0:
        return parsed(serialized, features)
    (count,) = serialized.shape
    return {key: _of_many(feature, [count]) for key, feature in features.items()}


def parsed_sequence(
    serialized: Any, context_features: Any = None, sequence_features: Any = None, *names: Any, **options: Any
) -> tuple[Specs, Specs]:
    """Return the specs of one SequenceExample: its context and its lists."""
    lists = {key: _of_many(feature, [None]) for key, feature in (sequence_features or {}).items()}
    for key, feature in (sequence_features or {}).items():
        if isinstance(feature, FixedLenSequenceFeature):
            lists[key] = _of_one(feature)
    return parsed(serialized, context_features or {}), lists


def parsed_sequences(
    serialized: Any, context_features: Any = None, sequence_features: Any = None, *names: Any, **options: Any
) -> tuple[Specs, Specs, Specs]:
    """Return the specs of many SequenceExamples: context, lists, and the lengths of dense lists."""
    (count,) = serialized.shape
    sequences = sequence_features or {}
    lists = {key: _of_many(feature, [count], inner=[None]) for key, feature in sequences.items()}
    dense = [key for key, feature in sequences.items() if isinstance(feature, FixedLenSequenceFeature)]
    lengths = {key: TensorSpec([count], int64) for key in dense}
    return parsed_batch(serialized, context_features or {}), lists, lengths


def _of_one(feature: Any) -> Any:
    match feature:
        case FixedLenFeature():
            return TensorSpec(TensorShape(feature.shape), feature.dtype)
        case FixedLenSequenceFeature():
            return TensorSpec(TensorShape([None]).concatenate(TensorShape(feature.shape)), feature.dtype)
        case VarLenFeature():
            return SparseTensorSpec([None], feature.dtype)
        case SparseFeature():
            return SparseTensorSpec(np.atleast_1d(feature.size).tolist(), feature.dtype)
        case RaggedFeature(partitions=()):
            return TensorSpec([None], feature.dtype)
        case RaggedFeature():
            return _partitioned(feature, [])
    return UNKNOWN_SPEC


def _of_many(feature: Any, outer: list[int | None], inner: list[None] | None = None) -> Any:
    """Return the spec of a feature of many Examples, or of lists: of ``inner`` steps of one each."""
    between = TensorShape(inner or [])
    match feature:
        case FixedLenFeature():
            return TensorSpec(TensorShape(outer).concatenate(TensorShape(feature.shape)), feature.dtype)
        case FixedLenSequenceFeature():
            return TensorSpec(TensorShape([*outer, None]).concatenate(TensorShape(feature.shape)), feature.dtype)
        case VarLenFeature():
            return SparseTensorSpec(TensorShape([None]) + between + [None], feature.dtype)
        case SparseFeature():
            return SparseTensorSpec([None, *np.atleast_1d(feature.size).tolist()], feature.dtype)
        case RaggedFeature():
            return _partitioned(feature, [*outer, *between])
    return UNKNOWN_SPEC


def _partitioned(feature: RaggedFeature, outer: list[int | None]) -> Any:
    if any(isinstance(partition, RaggedFeature.UniformRowLength) for partition in feature.partitions):
        return UNKNOWN_SPEC  # which of the dimensions are ragged then depends on where they stand
    shape = [*outer, *[None] * (len(feature.partitions) + 1)]
    return RaggedTensorSpec(shape, feature.dtype, len(shape) - 1, feature.row_splits_dtype)
