"""A feature description of SequenceExamples, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from penstock.codec.decoder import Decoder, Records
from penstock.columns import Nullable, Ragged
from penstock.schema import Schema
from penstock.tf.errors import tensorflow_errors
from penstock.tf.io.asked_columns import AskedColumns
from penstock.tf.io.features import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, VarLenFeature
from penstock.tf.io.plan import batch_tensor, check_spec, dense_array, finder, lists_of, single_tensor
from penstock.tf.io.row_partitions import Integers, Lists, build_ragged, offsets_of, splits_of
from penstock.tf.ragged_tensor import RaggedTensor
from penstock.tf.sparse_tensor import SparseTensor
from penstock.tf.tensor import Tensor

CONTEXT = (FixedLenFeature, VarLenFeature, RaggedFeature)
SEQUENCE = (FixedLenSequenceFeature, VarLenFeature, RaggedFeature)

# A key may stand in the context and in the lists: their columns have names of their own.
_IN_CONTEXT, _IN_LISTS = "context ", "list "


class SequencePlan:
    """How SequenceExamples are parsed by a feature description."""

    def __init__(self, context: Mapping[str, Any], sequence: Mapping[str, Any]) -> None:
        self._context, self._sequence = dict(context), dict(sequence)
        asked, asked_lists = AskedColumns(_IN_CONTEXT), AskedColumns(_IN_LISTS, sequence=True)
        asked.add_all(context, CONTEXT)
        asked_lists.add_all(sequence, SEQUENCE)
        for spec in context.values():
            check_spec(spec)
        self._schema = Schema(asked.features, sequence=asked_lists.features)

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self._schema)

    def parse(self, records: Records, *, single: bool) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Parse records: context, lists, lengths of dense lists. ``single``: one record, without its dimension."""
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
                    sequence[key] = _sparse(*_steps(column), single=single)
                case RaggedFeature():
                    sequence[key] = _ragged(key, spec, columns, single=single)
        return context, sequence, lengths


def _present(column: Any) -> Any:
    return column.fill([]) if isinstance(column, Nullable) else column


def _steps(column: Any) -> tuple[Lists, Integers]:
    """Answer the values of each step, and the steps of each record."""
    outer: Ragged = _present(column)
    start, stop = int(outer.offsets[0]), int(outer.offsets[-1])
    return lists_of(outer.values[start:stop]), outer.lengths


def _sparse(steps: Lists, counts: Integers, *, single: bool) -> SparseTensor:
    per_step = np.arange(len(steps.counts))
    records = np.repeat(np.arange(len(counts)), counts)
    rows = per_step - np.repeat(offsets_of(counts)[:-1], counts)
    places = np.arange(len(steps.values)) - np.repeat(steps.offsets[:-1], steps.counts)
    indices = np.stack([np.repeat(records, steps.counts), np.repeat(rows, steps.counts), places], axis=1)
    shape = np.array([len(counts), counts.max(initial=0), steps.counts.max(initial=0)], np.int64)
    if single:
        indices, shape = indices[:, 1:], shape[1:]
    return SparseTensor(Tensor(indices), Tensor(steps.values), Tensor(shape))


def _ragged(key: str, spec: RaggedFeature, columns: Any, *, single: bool) -> RaggedTensor:
    steps, counts = _steps(columns[_IN_LISTS + (key if spec.value_key is None else spec.value_key)])
    built, inner = build_ragged(
        steps, spec.partitions, lambda name: _steps(columns[_IN_LISTS + name])[0], spec.row_splits_dtype
    )
    rows = RaggedTensor(built, splits_of(inner, spec.row_splits_dtype))
    return rows if single else RaggedTensor(rows, splits_of(counts, spec.row_splits_dtype))
