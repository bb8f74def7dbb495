"""ArrowScan: a dataset as engines read it, as Arrow batches of chosen columns, filtered and limited while reading.

Columns that an engine does not ask for are not decoded. Where it filters, a batch is reduced to the rows that match
before it is converted to Arrow. Batches have about the same number of bytes, whatever a record holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns import Batch
from penstock.dataset.dataset import Dataset
from penstock.dataset.export_arrow import arrow_batch, arrow_schema, keep_encoded, without_views
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.transforms.batch import batch
from penstock.dataset.transforms.column_names import select_columns
from penstock.dataset.transforms.filter import filter_where
from penstock.dataset.transforms.take_skip import take
from penstock.errors import import_extra
from penstock.schema import Schema


@dataclass(frozen=True)
class ArrowCondition:
    """A condition of an engine on rows."""

    text: str
    names: tuple[str, ...]
    """The columns that it reads."""
    choose: Callable[[Batch], NDArray[np.bool_]]
    """Returns which rows match."""

    def check(self, columns: Schema) -> None:
        """Accept all columns: the engine has checked them."""

    def matches(self, columns: Batch) -> NDArray[np.bool_]:
        """Return which rows match."""
        return self.choose(columns)


_BATCH_BYTES = 4 << 20
_FEWEST_ROWS, _MOST_ROWS = 64, 16384


class ArrowScan:
    """A dataset of rows as Arrow batches, with projection, filters and limits pushed down.

    Args:
        dataset: The dataset, before ``batch()``.
        decode: Decode images and tensors. By default they stay encoded, as bytes.
        tensors: Return numbers of a dense shape as ``pa.fixed_shape_tensor``, not as nested lists.
        rows_per_batch: The rows of a batch. By default as many as have about 4 MB.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        *,
        decode: bool = False,
        tensors: bool = False,
        rows_per_batch: int | None = None,
    ) -> None:
        pipeline = dataset._pipeline
        if pipeline.yields_batches:
            raise ValueError("a query reads rows: pass the dataset as it was before batch()")
        encoded = None if decode else keep_encoded(pipeline, tensors=True)
        self._dataset, self._tensors, self._batch_rows = dataset, tensors, rows_per_batch
        self._pipeline = pipeline if encoded is None else encoded[0]
        start = self._pipeline.start
        is_read = isinstance(start, ReadRows) and not self._pipeline.stages
        self._features = start.source.schema if is_read else Schema({})  # type: ignore[attr-defined]
        self.failure: Exception | None = None
        """The error that ended :meth:`batches`. Engines raise errors of their own, with its text."""

    @cached_property
    def schema(self) -> Any:
        """The ``pyarrow.Schema`` of all columns. It has no view types, which pyarrow's filters do not support."""
        pa = import_extra("pyarrow", "arrow", "Arrow data")
        return pa.schema([field.with_type(self._tensor_type(field)) for field in self._plain_schema])

    def _tensor_type(self, field: Any) -> Any:
        pa = import_extra("pyarrow", "arrow", "Arrow data")
        feature = self._features.get(field.name)
        kind, shape = field.type, []
        while pa.types.is_fixed_size_list(kind):
            shape.append(kind.list_size)
            kind = kind.value_type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not self._tensors or feature is None or feature.optional or not all(shape) or not shape or not is_number:
            return field.type
        return pa.fixed_shape_tensor(kind, shape)

    @cached_property
    def _plain_schema(self) -> Any:
        pa = import_extra("pyarrow", "arrow", "Arrow data")
        if self._features:
            # Arrow has no bfloat16: such columns are exported as float32.
            features = self._features
            wide = {name: f.replace(dtype="float32") for name, f in features.items() if f.dtype == "bfloat16"}
            schema = arrow_schema(features | wide)
        else:
            first = next(self._iterate(take(self._pipeline, 1), 1), None)
            schema = pa.schema([]) if first is None else arrow_batch(first, {}).schema
        return without_views(pa.schema([field.with_nullable(True).remove_metadata() for field in schema]))

    def batches(
        self, columns: Sequence[str] | None = None, *, condition: ArrowCondition | None = None, limit: int | None = None
    ) -> Iterator[Any]:
        """Yield ``pyarrow.RecordBatch`` objects.

        Args:
            columns: The columns, in order. None yields all.
            condition: The rows to yield.
            limit: Stop after this many rows.
        """
        pa = import_extra("pyarrow", "arrow", "Arrow data")
        names = self.schema.names if columns is None else list(columns)
        fields = pa.schema([self.schema.field(name) for name in names])
        # Where no column is asked for, rows are counted by one.
        chosen = self._stored(names or self.schema.names[:1])
        pipeline = select_columns(self._pipeline, chosen)
        size = self._rows_per_batch(pipeline)
        if condition is not None:
            filtered = filter_where(_with_blocks(self._pipeline, size), condition)
            pipeline = select_columns(filtered, chosen)
        if limit is not None:
            pipeline = take(pipeline, limit)
        try:
            for rows in self._iterate(pipeline, size):
                yield self._to_arrow(rows, fields)
        except Exception as error:
            self.failure = error
            raise

    def condition(self, text: str, names: Sequence[str], choose: Callable[[Any], NDArray[np.bool_]]) -> ArrowCondition:
        """Return a condition that ``choose`` evaluates on batches of the columns ``names``."""
        pa = import_extra("pyarrow", "arrow", "Arrow data")
        fields = pa.schema([self.schema.field(name) for name in dict.fromkeys(names)])
        return ArrowCondition(text, self._stored(fields.names), lambda rows: choose(self._to_arrow(rows, fields)))

    def _stored(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns of rows behind columns of Arrow: a struct has one for each of its fields."""
        fields = set(self._features) - set(self.schema.names)
        return (*names, *(field for field in fields if any(field.startswith(f"{name}/") for name in names)))

    def _to_arrow(self, rows: Batch, fields: Any) -> Any:
        """Return rows as a ``pyarrow.RecordBatch`` with these fields."""
        if not len(fields):
            pa = import_extra("pyarrow", "arrow", "Arrow data")
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
        columns = Batch({name: rows[name] for name in self._stored(fields.names)})
        plain = import_extra("pyarrow", "arrow", "Arrow data").schema(
            [self._plain_schema.field(n) for n in fields.names]
        )
        found = arrow_batch(columns, self._features).select(fields.names).cast(plain)
        return found if plain.equals(fields) else _with_tensors(found, fields)

    def _rows_per_batch(self, pipeline: Pipeline) -> int:
        """Return how many rows like the first one have the bytes of a batch."""
        if self._batch_rows is not None:
            return self._batch_rows
        first = next(self._iterate(take(pipeline, 1), 1), None)
        size = 0 if first is None else arrow_batch(first, {}).nbytes
        return min(max(_BATCH_BYTES // max(size, 1), _FEWEST_ROWS), _MOST_ROWS)

    def _iterate(self, pipeline: Pipeline, size: int) -> Iterator[Batch]:
        for element in self._dataset._iterate(batch(pipeline, size, drop_last=False, pad=None)):
            if not isinstance(element, Batch):
                raise TypeError(
                    f"a query needs named columns: map() elements of type {type(element).__name__} to dicts"
                )
            yield element


def _with_tensors(batch: Any, fields: Any) -> Any:
    """Return a batch with nested lists of fixed sizes as tensors, without copying the numbers."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    columns = []
    for column, field in zip(batch.columns, fields, strict=True):
        if isinstance(field.type, pa.FixedShapeTensorType):
            values, size = column, 1
            while pa.types.is_fixed_size_list(values.type):
                size *= values.type.list_size
                values = values.flatten()
            storage = pa.FixedSizeListArray.from_arrays(values, size)
            column = pa.ExtensionArray.from_storage(field.type, storage)
        columns.append(column)
    return pa.record_batch(columns, schema=fields)


def _with_blocks(pipeline: Pipeline, size: int) -> Pipeline:
    """Return a pipeline that reads so many rows at once."""
    start = pipeline.start
    return pipeline.with_start(replace(start, size=size)) if isinstance(start, ReadRows) else pipeline
