"""Data sets on their way out: to Arrow, and to whoever copies what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns import Batch, as_nested_lists, is_unequal
from penstock.dataset.stored import as_stored
from penstock.dataset.traced import traced
from penstock.errors import import_extra
from penstock.schema import Feature, Schema
from penstock.schema.arrow_tables import record_schema
from penstock.schema.dtype import TEXT

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

_ROWS = 1024


class Exports:
    """What a data set has to be Arrow data, for Polars, DuckDB and others; images are the bytes that are stored."""

    def to_arrow(self: Dataset) -> Any:  # type: ignore[misc]
        """Read all elements into a ``pyarrow.Table``; images stay the bytes that are stored.

        The schema goes with the table, and through Parquet: :func:`penstock.write` makes the same records of it again.

        >>> ds.to_arrow().to_pandas()

        What does not fit memory is streamed: ``pyarrow.RecordBatchReader.from_stream(ds)``.
        """
        reader = open_arrow(self)
        schema = without_views(reader.schema)
        return import_extra("pyarrow", "arrow", "Arrow data").Table.from_batches(
            (batch.cast(schema) for batch in reader), schema
        )

    def __arrow_c_stream__(self: Dataset, requested_schema: object = None) -> object:  # type: ignore[misc]
        return open_arrow(self).__arrow_c_stream__(requested_schema)

    def _as_stored(self: Dataset) -> tuple[Dataset, Schema] | None:  # type: ignore[misc]
        """Answer the data set with images as bytes, and the schema to write it by; None where rows are made anew."""
        stored = as_stored(self._pipeline)
        return None if stored is None else (self._with(stored[0]), stored[1])

    def _traced(self: Dataset) -> tuple[Dataset, Schema | None]:  # type: ignore[misc]
        """Return the dataset with stored bytes beside its arrays, for one pass, and the schema of what it reads."""
        pipeline, schema = traced(self._pipeline)
        epoch = self._next_epoch
        self._epoch_begun(epoch)
        return type(self)._of(pipeline, epoch), schema


def open_arrow(dataset: Dataset) -> Any:
    """Answer a ``pyarrow.RecordBatchReader`` of one pass."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")
    stored = dataset._as_stored()
    elements, features = (dataset, {}) if stored is None else (stored[0], stored[0].schema)
    batches = (pa.record_batch(_with_lists(batch, features)) for batch in _batches(elements))
    first = next(batches, None)
    if first is None:
        schema = pa.schema([]) if stored is None else record_schema(elements.schema.to_arrow(), stored[1])
        return pa.RecordBatchReader.from_batches(schema, iter(()))
    # Whether values are absent is known of one batch at a time.
    schema = pa.schema([field.with_nullable(True) for field in first.schema])
    schema = schema if stored is None else record_schema(schema, stored[1])
    return pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in chain([first], batches)))


def without_views(schema: Any) -> Any:
    """Answer an Arrow schema with plain text and bytes, which much of Arrow's own compute and pandas still ask for."""
    pa = import_extra("pyarrow", "arrow", "Arrow data")

    def plain(kind: Any) -> Any:
        if pa.types.is_string_view(kind):
            return pa.large_string()
        if pa.types.is_binary_view(kind):
            return pa.large_binary()
        if pa.types.is_fixed_size_list(kind):
            return pa.list_(plain(kind.value_type), kind.list_size)
        return pa.large_list(plain(kind.value_type)) if pa.types.is_large_list(kind) else kind

    return pa.schema([field.with_type(plain(field.type)) for field in schema], schema.metadata)


def _with_lists(batch: Batch, features: Mapping[str, Feature]) -> Batch:
    """Answer a batch with tensors of unequal shapes as lists of lists."""
    return batch | {
        name: as_nested_lists(column, _empty_row(features[name]) if name in features else None)
        for name, column in batch.items()
        if is_unequal(column)
    }


def _empty_row(feature: Feature) -> NDArray[Any]:
    return np.empty((0,) * len(feature.shape), object if feature.dtype in TEXT else feature.numpy_dtype)


def _batches(elements: Dataset) -> Iterator[Batch]:
    for first in elements.take(1):
        for batch in elements if isinstance(first, Batch) else elements.batch(_ROWS):
            if not isinstance(batch, Batch):
                raise TypeError(f"an Arrow table has columns with names: make dicts of {type(first).__name__}")
            yield batch
