"""A feature description, compiled: a native decoder, and how tensors are made of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.codec.decoder import Decoder, Records
from penstock.columns import Batch, BytesColumn, Nullable
from penstock.errors import PenstockError
from penstock.schema import Feature, Schema
from penstock.tf.dtypes import as_dtype
from penstock.tf.errors import InvalidArgumentError, tensorflow_errors
from penstock.tf.io.asked_columns import AskedColumns, index_keys, padding_of, sparse_sizes
from penstock.tf.io.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from penstock.tf.io.row_partitions import Lists, build_ragged, splits_of
from penstock.tf.ragged_tensor import RaggedTensor
from penstock.tf.sparse_tensor import SparseTensor
from penstock.tf.tensor import Tensor

Find = Callable[[str], Lists]

# Shorter strings are words more often than numbers.
_LEAST_RAW = 64

EXAMPLE = (FixedLenFeature, VarLenFeature, FixedLenSequenceFeature, SparseFeature, RaggedFeature)


class RawBytes(NamedTuple):
    """Strings of one length, as bytes side by side."""

    raw: NDArray[np.uint8]


class ExamplePlan:
    """How Examples are parsed by a feature description. The same for many records; safe to share between threads."""

    def __init__(self, specs: Mapping[str, Any]) -> None:
        self._specs = dict(specs)
        asked = AskedColumns("")
        asked.add_all(specs, EXAMPLE)
        for spec in specs.values():
            check_spec(spec)
        self._features = asked.features
        self._schema = Schema(asked.features)
        self._of_equal_length: Decoder | None = None
        self._looked_at_lengths = False

    @cached_property
    def _many(self) -> Decoder:
        return Decoder(self._schema)

    @cached_property
    def _one(self) -> Decoder:
        return Decoder(self._schema, threads=1)

    def batch(self, records: Records) -> dict[str, Any]:
        """Parse records to tensors with a first dimension for the records."""
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
        """Parse records one by one, but in one call: an array with the records stacked, or a list of their tensors."""
        columns = self._decoded(records)
        return {key: self._rows(key, spec, columns) for key, spec in self._specs.items()}

    def _decoded(self, records: Records) -> Batch:
        """Decode many records. Strings that were of one length are taken for numbers, until there is another length."""
        decoder = self._of_equal_length
        if decoder is not None:
            try:
                return decoder.decode(records)
            except PenstockError:
                self._of_equal_length = None
        with tensorflow_errors():
            columns = self._many.decode(records)
        if not self._looked_at_lengths and columns.num_rows:
            self._looked_at_lengths = True
            self._of_equal_length = self._decoder_of_equal_length(columns)
        return columns

    def _decoder_of_equal_length(self, columns: Batch) -> Decoder | None:
        features = dict(self._features)
        for key, spec in self._specs.items():
            column = columns[key] if isinstance(spec, FixedLenFeature) and spec.default_value is None else None
            if isinstance(column, BytesColumn) and not column.shape:
                lengths = column.views[:, 0]
                if (lengths == lengths[0]).all() and lengths[0] >= _LEAST_RAW:
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
    """Raise where a description cannot be, whatever the records hold."""
    if isinstance(spec, SparseFeature):
        sparse_sizes(spec)
    elif isinstance(spec, FixedLenSequenceFeature):
        padding_of(spec.default_value, as_dtype(spec.dtype))


def keys_of(key: str, spec: Any) -> list[str]:
    """Answer the keys of all columns that a feature is made of."""
    match spec:
        case SparseFeature():
            return [*index_keys(spec), spec.value_key]
        case RaggedFeature():
            cut = [part.key for part in spec.partitions if not isinstance(part, RaggedFeature.UniformRowLength)]
            return [key if spec.value_key is None else spec.value_key, *cut]
    return [key]


def finder(columns: Batch | Mapping[str, Any], prefix: str = "") -> Find:
    """Answer the function that gives the lists of a key."""
    return lambda key: lists_of(columns[prefix + key])


def dense_array(column: Any) -> NDArray[Any]:
    """Answer a column without ragged levels as an array."""
    return column.to_numpy() if isinstance(column, BytesColumn) else column


def lists_of(column: Any) -> Lists:
    """Answer a ragged column as values and counts."""
    ragged: Any = column.fill([]) if isinstance(column, Nullable) else column
    start, stop = int(ragged.offsets[0]), int(ragged.offsets[-1])
    return Lists(dense_array(ragged.values[start:stop]), ragged.lengths)


def batch_tensor(key: str, spec: Any, columns: Any, find: Find) -> Any:
    """Make the tensor of a feature for many records."""
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
    """Make the tensor of a feature for the one record that there is."""
    match spec:
        case FixedLenFeature():
            array = dense_array(columns[key])
            return Tensor(array.reshape(array.shape[1:]))
        case FixedLenSequenceFeature():
            return Tensor(find(key).values)
        case VarLenFeature():
            values = find(key).values
            places = np.arange(len(values), dtype=np.int64)[:, None]
            return SparseTensor(Tensor(places), Tensor(values), Tensor(np.array([len(values)], np.int64)))
        case SparseFeature():
            batch = _sparse(spec, find)
            shape = Tensor(batch.dense_shape._array[1:])
            return SparseTensor(Tensor(batch.indices._array[:, 1:]), batch.values, shape)
        case RaggedFeature():
            return _ragged(key, spec, find)[0]
    raise AssertionError(spec)


def sparse_lists(lists: Lists) -> SparseTensor:
    """Answer lists as a SparseTensor: row, place in the row."""
    rows = np.repeat(np.arange(len(lists.counts)), lists.counts)
    places = np.arange(len(rows)) - np.repeat(lists.offsets[:-1], lists.counts)
    shape = np.array([len(lists.counts), lists.counts.max(initial=0)], np.int64)
    return SparseTensor(Tensor(np.stack([rows, places], axis=1)), Tensor(lists.values), Tensor(shape))


def _sparse(spec: SparseFeature, find: Find) -> SparseTensor:
    values = find(spec.value_key)
    indices = [find(key) for key in index_keys(spec)]
    # Example by example: TensorFlow compares the totals of a batch, and pairs values across examples.
    if any((index.counts != values.counts).any() for index in indices):
        raise InvalidArgumentError(f"the indices of {spec.value_key!r} are not as many as its values")
    rows = np.repeat(np.arange(len(values.counts)), values.counts)
    places = np.stack([rows, *(index.values for index in indices)], axis=1)
    order: Sequence[int] | NDArray[Any] = np.arange(len(rows)) if spec.already_sorted else np.lexsort(places.T[::-1])
    shape = np.array([len(values.counts), *sparse_sizes(spec)], np.int64)
    return SparseTensor(Tensor(places[order]), Tensor(values.values[order]), Tensor(shape))


def _ragged(key: str, spec: RaggedFeature, find: Find) -> Any:
    values = find(key if spec.value_key is None else spec.value_key)
    return build_ragged(values, spec.partitions, find, spec.row_splits_dtype)
