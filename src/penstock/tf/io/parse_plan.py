"""Compiled feature descriptions: a native decoder, and the conversion of its columns to tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.codec.decoder import Decoder, Records
from penstock.columns import Batch, BytesColumn, Nullable, Ragged
from penstock.errors import PenstockError
from penstock.schema import Feature, Schema
from penstock.tf.errors import InvalidArgumentError, tensorflow_errors
from penstock.tf.io.features import (
    FeatureColumns,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    index_keys,
    padding_of,
    sparse_sizes,
)
from penstock.tf.io.row_partitions import Integers, Lists, build_ragged, offsets_of, splits_of
from penstock.tf.tensors.dtypes import as_dtype
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.tensor import Tensor

Find = Callable[[str], Lists]
# Shorter strings are more often words than numbers.
_MIN_RAW_BYTES = 64
EXAMPLE = (FixedLenFeature, VarLenFeature, FixedLenSequenceFeature, SparseFeature, RaggedFeature)


class RawBytes(NamedTuple):
    """Strings of one length, as a matrix of bytes."""

    raw: NDArray[np.uint8]


class ExamplePlan:
    """Parses Examples by a feature description. Compiled once for many records; safe to share between threads."""

    def __init__(self, specs: Mapping[str, Any]) -> None:
        self._specs = dict(specs)
        columns = FeatureColumns("")
        columns.add_all(specs, EXAMPLE)
        for spec in specs.values():
            check_spec(spec)
        self._features = columns.features
        self._schema = Schema(columns.features)
        self._raw_decoder: Decoder | None = None
        self._checked_lengths = False

    @cached_property
    def _many(self) -> Decoder:
        return Decoder(self._schema)

    @cached_property
    def _one(self) -> Decoder:
        return Decoder(self._schema, threads=1)

    def batch(self, records: Records) -> dict[str, Any]:
        """Parse records to tensors whose first dimension is the records."""
        with tensorflow_errors():
            columns = self._many.decode(records)
        find = finder(columns)
        return {key: batch_tensor(key, spec, columns, find) for key, spec in self._specs.items()}

    def single(self, record: bytes) -> dict[str, Any]:
        """Parse one record."""
        with tensorflow_errors():
            columns = self._one.decode([record])
        find = finder(columns)
        return {key: single_tensor(key, spec, columns, find) for key, spec in self._specs.items()}

    def rows(self, records: Records) -> dict[str, NDArray[Any] | RawBytes | list[Any]]:
        """Parse each record on its own, but all in one call: to a stacked array, or to a list of tensors."""
        columns = self._decoded(records)
        return {key: self._rows(key, spec, columns) for key, spec in self._specs.items()}

    def _decoded(self, records: Records) -> Batch:
        """Decode many records. Strings of one length are decoded as raw bytes until a record has another length."""
        decoder = self._raw_decoder
        if decoder is not None:
            try:
                return decoder.decode(records)
            except PenstockError:
                self._raw_decoder = None
        with tensorflow_errors():
            columns = self._many.decode(records)
        if not self._checked_lengths and columns.num_rows:
            self._checked_lengths = True
            self._raw_decoder = self._decoder_of_raw_bytes(columns)
        return columns

    def _decoder_of_raw_bytes(self, columns: Batch) -> Decoder | None:
        features = dict(self._features)
        for key, spec in self._specs.items():
            column = columns[key] if isinstance(spec, FixedLenFeature) and spec.default_value is None else None
            if isinstance(column, BytesColumn) and not column.shape:
                lengths = column.views[:, 0]
                if (lengths == lengths[0]).all() and lengths[0] >= _MIN_RAW_BYTES:
                    features[key] = Feature("uint8", (int(lengths[0]),), encoding="raw")
        return Decoder(Schema(features)) if features != self._features else None

    def _rows(self, key: str, spec: Any, columns: Batch) -> NDArray[Any] | RawBytes | list[Any]:
        if isinstance(spec, FixedLenFeature):
            column: Any = columns[key]
            strings = as_dtype(spec.dtype).name == "string"
            return RawBytes(column) if strings and not isinstance(column, BytesColumn) else dense_array(column)
        needed = {name: columns[name] for name in keys_of(key, spec)}
        found = []
        for row in range(columns.num_rows):
            one = Batch({name: column[row : row + 1] for name, column in needed.items()})
            found.append(single_tensor(key, spec, one, finder(one)))
        return found


def check_spec(spec: Any) -> None:
    """Raise if a description is invalid for all records."""
    if isinstance(spec, SparseFeature):
        sparse_sizes(spec)
    elif isinstance(spec, FixedLenSequenceFeature):
        padding_of(spec.default_value, as_dtype(spec.dtype))


def keys_of(key: str, spec: Any) -> list[str]:
    """Return the keys of all columns that a feature reads."""
    match spec:
        case SparseFeature():
            return [*index_keys(spec), spec.value_key]
        case RaggedFeature():
            partitions = [part.key for part in spec.partitions if not isinstance(part, RaggedFeature.UniformRowLength)]
            return [key if spec.value_key is None else spec.value_key, *partitions]
    return [key]


def finder(columns: Batch | Mapping[str, Any], prefix: str = "") -> Find:
    """Return a function that returns the lists of a key."""
    return lambda key: lists_of(columns[prefix + key])


def dense_array(column: Any) -> NDArray[Any]:
    """Return a column without ragged levels as an array."""
    return column.to_numpy() if isinstance(column, BytesColumn) else column


def lists_of(column: Any) -> Lists:
    """Return a ragged column as values and counts."""
    ragged: Any = column.fill([]) if isinstance(column, Nullable) else column
    start, stop = int(ragged.offsets[0]), int(ragged.offsets[-1])
    return Lists(dense_array(ragged.values[start:stop]), ragged.lengths)


def batch_tensor(key: str, spec: Any, columns: Any, find: Find) -> Any:
    """Return the tensor of a feature for many records."""
    match spec:
        case FixedLenFeature():
            return Tensor(dense_array(columns[key]))
        case FixedLenSequenceFeature():
            return Tensor(columns[key].to_padded(padding_of(spec.default_value, as_dtype(spec.dtype))))
        case VarLenFeature():
            return sparse_lists(find(key))
        case SparseFeature():
            return _sparse(spec, find)
        case RaggedFeature():
            built, counts = _ragged(key, spec, find)
            return RaggedTensor(built, splits_of(counts, spec.row_splits_dtype))
    raise AssertionError(spec)


def single_tensor(key: str, spec: Any, columns: Any, find: Find) -> Any:
    """Return the tensor of a feature for a single record."""
    match spec:
        case FixedLenFeature():
            array = dense_array(columns[key])
            return Tensor(array.reshape(array.shape[1:]))
        case FixedLenSequenceFeature():
            return Tensor(find(key).values)
        case VarLenFeature():
            values = find(key).values
            indices = np.arange(len(values), dtype=np.int64)[:, None]
            return SparseTensor(Tensor(indices), Tensor(values), Tensor(np.array([len(values)], np.int64)))
        case SparseFeature():
            batch = _sparse(spec, find)
            shape = Tensor(batch.dense_shape._array[1:])
            return SparseTensor(Tensor(batch.indices._array[:, 1:]), batch.values, shape)
        case RaggedFeature():
            return _ragged(key, spec, find)[0]
    raise AssertionError(spec)


def sparse_lists(lists: Lists) -> SparseTensor:
    """Return lists as a SparseTensor with indices ``[row, position]``."""
    rows = np.repeat(np.arange(len(lists.counts)), lists.counts)
    places = np.arange(len(rows)) - np.repeat(lists.offsets[:-1], lists.counts)
    shape = np.array([len(lists.counts), lists.counts.max(initial=0)], np.int64)
    return SparseTensor(Tensor(np.stack([rows, places], axis=1)), Tensor(lists.values), Tensor(shape))


def _sparse(spec: SparseFeature, find: Find) -> SparseTensor:
    values = find(spec.value_key)
    indices = [find(key) for key in index_keys(spec)]
    # Compared per example: TensorFlow compares the totals of a batch, and pairs values across examples.
    if any((index.counts != values.counts).any() for index in indices):
        raise InvalidArgumentError(f"expected as many indices as values of {spec.value_key!r} in each example")
    rows = np.repeat(np.arange(len(values.counts)), values.counts)
    places = np.stack([rows, *(index.values for index in indices)], axis=1)
    order: Sequence[int] | NDArray[Any] = np.arange(len(rows)) if spec.already_sorted else np.lexsort(places.T[::-1])
    shape = np.array([len(values.counts), *sparse_sizes(spec)], np.int64)
    return SparseTensor(Tensor(places[order]), Tensor(values.values[order]), Tensor(shape))


def _ragged(key: str, spec: RaggedFeature, find: Find) -> Any:
    values = find(key if spec.value_key is None else spec.value_key)
    return build_ragged(values, spec.partitions, find, spec.row_splits_dtype)


CONTEXT = (FixedLenFeature, VarLenFeature, RaggedFeature)
SEQUENCE = (FixedLenSequenceFeature, VarLenFeature, RaggedFeature)
# A key may occur in the context and in the lists: their columns have separate names.
_IN_CONTEXT, _IN_LISTS = "context ", "list "


class SequencePlan:
    """Parses SequenceExamples by a feature description."""

    def __init__(self, context: Mapping[str, Any], sequence: Mapping[str, Any]) -> None:
        self._context, self._sequence = dict(context), dict(sequence)
        context_columns, list_columns = FeatureColumns(_IN_CONTEXT), FeatureColumns(_IN_LISTS, sequence=True)
        context_columns.add_all(context, CONTEXT)
        list_columns.add_all(sequence, SEQUENCE)
        for spec in context.values():
            check_spec(spec)
        self._schema = Schema(context_columns.features, sequence=list_columns.features)

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self._schema)

    def parse(self, records: Records, *, single: bool) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Parse records to context, lists and lengths of dense lists; ``single``: without a dimension for records."""
        with tensorflow_errors():
            columns = self._decoder.decode(records)
        in_context = {name.removeprefix(_IN_CONTEXT): column for name, column in columns.items()}
        make = single_tensor if single else batch_tensor
        find = finder(in_context)
        context = {key: make(key, spec, in_context, find) for key, spec in self._context.items()}
        sequence: dict[str, Any] = {}
        lengths: dict[str, Any] = {}
        for key, spec in self._sequence.items():
            column = _present(columns[_IN_LISTS + key] if not isinstance(spec, RaggedFeature) else None)
            match spec:
                case FixedLenSequenceFeature():
                    counts = column.lengths
                    sequence[key] = Tensor(dense_array(lists_of(column).values) if single else column.to_padded())
                    lengths[key] = Tensor(counts.reshape(()) if single else counts)
                case VarLenFeature():
                    sequence[key] = _sparse_steps(*_steps(column), single=single)
                case RaggedFeature():
                    sequence[key] = _ragged_steps(key, spec, columns, single=single)
        return context, sequence, lengths


def _present(column: Any) -> Any:
    return column.fill([]) if isinstance(column, Nullable) else column


def _steps(column: Any) -> tuple[Lists, Integers]:
    """Return the values of each step, and the steps of each record."""
    outer: Ragged = _present(column)
    start, stop = int(outer.offsets[0]), int(outer.offsets[-1])
    return lists_of(outer.values[start:stop]), outer.lengths


def _sparse_steps(steps: Lists, counts: Integers, *, single: bool) -> SparseTensor:
    per_step = np.arange(len(steps.counts))
    records = np.repeat(np.arange(len(counts)), counts)
    rows = per_step - np.repeat(offsets_of(counts)[:-1], counts)
    places = np.arange(len(steps.values)) - np.repeat(steps.offsets[:-1], steps.counts)
    indices = np.stack([np.repeat(records, steps.counts), np.repeat(rows, steps.counts), places], axis=1)
    shape = np.array([len(counts), counts.max(initial=0), steps.counts.max(initial=0)], np.int64)
    if single:
        indices, shape = indices[:, 1:], shape[1:]
    return SparseTensor(Tensor(indices), Tensor(steps.values), Tensor(shape))


def _ragged_steps(key: str, spec: RaggedFeature, columns: Any, *, single: bool) -> RaggedTensor:
    steps, counts = _steps(columns[_IN_LISTS + (key if spec.value_key is None else spec.value_key)])
    built, inner = build_ragged(
        steps, spec.partitions, lambda name: _steps(columns[_IN_LISTS + name])[0], spec.row_splits_dtype
    )
    rows = RaggedTensor(built, splits_of(inner, spec.row_splits_dtype))
    return rows if single else RaggedTensor(rows, splits_of(counts, spec.row_splits_dtype))
