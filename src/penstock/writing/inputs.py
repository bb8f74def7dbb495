"""Data to be written: tables of known length, or streams of rows or of tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.codec.encode_values import as_array, as_column, is_arrow
from penstock.columns import Batch, BytesColumn, Nullable, Ragged, batches_from_arrow, collate, from_arrow
from penstock.errors import import_extra
from penstock.schema import Schema
from penstock.schema.arrow_metadata import attached_schema
from penstock.schema.arrow_types import storable_columns
from penstock.schema.feature import FeatureArguments

RowSelection: TypeAlias = slice | NDArray[np.int64]
Columns: TypeAlias = Mapping[str, Any] | Batch
_NAMELESS = 'a column has a name, and this {0} has none: write {{"name": values}}'


class Table(Protocol):
    """Columns in memory, or in a memory map."""

    @property
    def num_rows(self) -> int:
        """The length of every column."""

    def take(self, rows: RowSelection) -> Columns:
        """Return some rows; those of a slice share memory."""

    def sample(self) -> Columns:
        """Return columns to infer a schema from."""

    @property
    def known(self) -> Mapping[str, FeatureArguments]:
        """What is known of features beside the sample: logical types, and the names of classes."""


class ColumnTable:
    """Columns by name: arrays, columns, tensors and lists."""

    def __init__(self, columns: Columns, known: Mapping[str, FeatureArguments] | None = None) -> None:
        self.known = known or {}
        self._columns = {name: as_column(name, column) for name, column in columns.items()}
        self._num_rows = columns.num_rows if isinstance(columns, Batch) else len(next(iter(self._columns.values()), ()))
        for name, column in self._columns.items():
            if len(column) != self._num_rows:
                raise ValueError(f"columns are of equal length: {self._num_rows} rows, but {name!r} has {len(column)}")

    @property
    def num_rows(self) -> int:
        return self._num_rows

    def take(self, rows: RowSelection) -> Columns:
        return {name: _take(column, rows) for name, column in self._columns.items()}

    def sample(self) -> Columns:
        return self._columns


class ArrowTable:
    """An Arrow table, or something that exports one; converted piece by piece, so that a memory map is not loaded."""

    def __init__(self, data: Any) -> None:
        arrow = import_extra("pyarrow", "arrow", "writing Arrow data")
        try:
            self._table = arrow.table(data).unify_dictionaries()
        except arrow.ArrowInvalid:
            raise TypeError(_NAMELESS.format(type(data).__name__)) from None

    @property
    def num_rows(self) -> int:
        return int(self._table.num_rows)

    def take(self, rows: RowSelection) -> Columns:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.num_rows)
            return from_arrow(self._table.slice(start, stop - start))
        return self._whole.take(rows)

    @cached_property
    def _whole(self) -> Batch:
        # pyarrow can take rows of some types only.
        return from_arrow(self._table)

    @property
    def known(self) -> Mapping[str, FeatureArguments]:
        return {
            column.name: column.arguments for column in storable_columns(self._table.slice(0, 1)) if column.arguments
        }

    def sample(self) -> Columns:
        # Types show everything but whether values are absent; the whole column shows that.
        head = from_arrow(self._table.slice(0, 1))
        nullable = {column.name for column in storable_columns(self._table) if column.array.null_count}
        return {name: _as_nullable(column) if name in nullable else column for name, column in head.items()}


def open_source(data: Any) -> Table | Iterator[Any]:
    """Return a table, or an iterator of rows or of tables."""
    if isinstance(data, Batch | Mapping):
        return ColumnTable(data)
    if _is_pandas(data):
        return _from_pandas(data)
    if isinstance(data, np.ndarray):
        if data.dtype.names is None:
            raise TypeError(_NAMELESS.format("array"))
        return ColumnTable({name: data[name] for name in data.dtype.names})
    if (stream := open_framework_source(data)) is not None:
        return stream
    if is_arrow(data):
        if hasattr(data, "num_rows") or hasattr(data, "__len__"):
            return ArrowTable(data)
        return iter(batches_from_arrow(data))
    if isinstance(data, str | bytes) or not hasattr(data, "__iter__"):
        advice = (
            "; to write what a file holds:  penstock convert FILE -o NAME"
            if isinstance(data, str | os.PathLike)
            else ""
        )
        found = f"found {type(data).__name__}{advice}"
        raise TypeError(f"expected columns, rows, a data frame or an iterator of them, {found}")
    items: Iterator[Any] = iter(data)
    return items


def schema_of_table(data: Any) -> Schema | None:
    """Return the schema in the metadata of an Arrow table or reader that was made from a dataset."""
    columns: Any = getattr(data, "schema", None)
    if not is_arrow(data) or not hasattr(columns, "metadata"):
        return None
    schema = attached_schema(columns)
    if schema is None or not hasattr(data, "columns"):
        return schema
    # Values may have become absent since.
    with_nulls = [schema[name] for name, column in zip(columns.names, data.columns, strict=True) if column.null_count]
    return schema if all(feature.optional or feature.has_default for feature in with_nulls) else None


def as_table(item: Any) -> Table | None:
    """Return an item of a stream as a table; None if it is a row."""
    if isinstance(item, Batch):
        return ColumnTable(item)
    if is_arrow(item):
        return ArrowTable(item)
    return _from_pandas(item) if _is_pandas(item) else None


def peek(items: Iterator[Any]) -> tuple[Any, Iterator[Any]]:
    """Return the first item, or None, and an iterator over all items."""
    for first in items:
        return first, chain([first], items)
    return None, items


def _as_nullable(column: Any) -> Nullable:
    return column if isinstance(column, Nullable) else Nullable(column, np.ones(len(column), np.bool_))


def _take(column: Any, rows: RowSelection) -> Any:
    if isinstance(column, list) and not isinstance(rows, slice):
        return [column[row] for row in rows.tolist()]
    return column[rows]


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")


def _from_pandas(frame: Any) -> ColumnTable:
    """Return the columns of a data frame. Its Arrow export would turn NaN into null, and the index into a column."""
    columns: dict[str, Any] = {}
    known: dict[str, FeatureArguments] = {}
    for position, name in enumerate(frame.columns):
        if str(name) in columns:
            raise ValueError(f"two columns have the name {str(name)!r}")
        series = frame.iloc[:, position]
        if isinstance(series.dtype, np.dtype) and not _holds_arrow_values(series):
            columns[str(name)] = series.to_numpy()
            continue
        arrow = import_extra("pyarrow", "arrow", f"writing the pandas type {series.dtype}")
        converted = ArrowTable(arrow.table({str(name): arrow.array(series, from_pandas=True)}))
        columns |= dict(converted.take(slice(None)).items())
        known |= converted.known
    return ColumnTable(columns, known)


def _holds_arrow_values(series: Any) -> bool:
    """Whether a column of Python objects holds dates, times, decimals or mappings."""
    if series.dtype != object:
        return False
    first = next((value for value in series if value is not None), None)
    return isinstance(first, date | time | timedelta | Decimal | dict)


# Rows that are converted together.
_ROWS = 1024


def open_framework_source(data: Any) -> Iterator[Any] | None:
    """Return the rows or batches of a framework's dataset; None for other objects."""
    for cls in type(data).__mro__:
        match cls.__module__.partition(".")[0], cls.__name__:
            case "tensorflow", "DatasetV2":
                return _from_tensorflow(data, sys.modules["tensorflow"])
            case "torch", "DataLoader":
                return _from_loader(data)
            case "torch", "IterableDataset":
                return map(row_of, data)
            case "torch", "Dataset":
                return (row_of(data[position]) for position in range(len(data)))
            case "datasets", "Dataset":
                return _from_hugging_face(data)
            case "datasets", "IterableDataset":
                return map(row_of, data)
            case "penstock", "Dataset" if cls.__module__.startswith("penstock.tf."):
                return _from_tensorflow(data, sys.modules["penstock.tf"])
    return _from_penstock(data) if is_dataset(data) else None


def is_dataset(data: Any) -> bool:
    """Whether an object is a dataset of Penstock."""
    return hasattr(data, "_as_stored") and hasattr(data, "_traced")


@dataclass(frozen=True)
class BatchStream:
    """Batches that are read once, and the number of their rows, where it is known."""

    batches: Iterable[Any]
    rows: int | None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.batches)


def count_rows(data: Any) -> int | None:
    """Return the number of rows, where it is known without reading the data; None elsewhere."""
    if isinstance(data, BatchStream):
        return data.rows
    if is_dataset(data):
        return _length_of_dataset(data)
    if isinstance(data, list | tuple):
        if not data or as_table(data[0]) is None:
            return len(data)
        tables = [as_table(item) for item in data]
        return None if None in tables else sum(table.num_rows for table in tables if table is not None)
    names = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(data).__mro__}
    is_sized = hasattr(data, "__len__") and ("torch", "IterableDataset") not in names
    return len(data) if is_sized and names & {("torch", "Dataset"), ("datasets", "Dataset")} else None


def _length_of_dataset(data: Any) -> int | None:
    reads = data._pipeline.reads
    if reads is None or reads.batches is not None:
        return None
    # To count the records of remote files without an index or a manifest, all of them would be read.
    if reads.source.shards.remote and not reads.source.shards.counted:
        return None
    try:
        return len(data)
    except TypeError:
        return None  # it has no end


def mapped_rows(data: Any, function: Callable[[dict[str, Any]], Any]) -> Any:
    """Return a dataset of Penstock with a function called for each row, also of batches."""
    return (data.unbatch() if _is_batched(data) else data).map(function)


def traced(data: Any) -> tuple[Any, Schema | None]:
    """Return an iterator over a dataset whose values carry their stored bytes, and the schema of its records."""
    if data._as_stored() is not None and not _is_batched(data):
        data = data.batch(_ROWS)
    elements, schema = data._traced()
    return iter(elements), schema


def _is_batched(data: Any) -> bool:
    return any(isinstance(first, Batch) for first in data.take(1))


def _from_penstock(data: Any) -> Iterator[Any]:
    # Datasets with functions are traced: Python values in columns would have dtypes that nobody chose.
    return iter(data if _is_batched(data) else data.batch(_ROWS))


def _from_tensorflow(data: Any, tf: Any) -> Iterator[Any]:
    """Return the batches of a dataset of TensorFlow or ``penstock.tf``; rows where shapes are not known in advance."""

    def densely(*element: Any) -> dict[str, Any]:
        named = _named(element if len(element) > 1 else element[0], _is_tuple)
        return {name: tf.sparse.to_dense(value) if name in sparse else value for name, value in named}

    specs = _named(data.element_spec, _is_tuple)
    sparse = {name for name, spec in specs if isinstance(spec, tf.SparseTensorSpec)}
    dense = data.map(densely)
    try:
        # Values of varying shape become ragged by their spec, not by what the first rows happen to be.
        batches = dense.ragged_batch(_ROWS)
    except tf.errors.UnimplementedError:
        for element in dense:
            yield {name: _tensorflow_row(value) for name, value in element.items()}
        return
    for batch in batches:
        yield Batch({name: _tensorflow_column(value) for name, value in batch.items()})


def _tensorflow_row(value: Any) -> Any:
    return value.to_list() if hasattr(value, "nested_row_splits") else value.numpy()


def _tensorflow_column(value: Any) -> Any:
    if hasattr(value, "nested_row_splits"):
        column = _tensorflow_column(value.flat_values)
        for splits in reversed(value.nested_row_splits):
            column = Ragged(column, splits.numpy().astype(np.int64))
        return column
    array = value.numpy()
    if array.dtype != object:
        return array
    return _strings(array)


def _strings(array: Any) -> BytesColumn:
    """Return an array of bytes objects as a column; with more dimensions, each row has a shape."""
    flat = array.reshape(-1).tolist()
    column = collate(flat) if flat else BytesColumn(np.zeros((0, 4), np.int32), ())
    assert isinstance(column, BytesColumn)
    return BytesColumn(column.views, column.buffers, shape=array.shape[1:], rows=len(array))


def _from_loader(loader: Any) -> Iterator[Any]:
    # Without a batch size, a loader yields the rows of its dataset, and turns tuples into lists.
    if loader.batch_sampler is None:
        yield from (row_of(tuple(item) if isinstance(item, list) else item) for item in loader)
        return
    for batch in loader:
        yield Batch({name: _loaded_column(value) for name, value in _named(batch, _is_list_of_columns)})


def _loaded_column(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return collate(value)
    if getattr(value, "is_nested", False):
        offsets = as_array(value.offsets()).astype(np.int64)
        return Ragged(as_array(value.values()), offsets)
    return as_array(value)


def _from_hugging_face(data: Any) -> Iterator[Any]:
    # The Arrow table has the types of all columns, except for values that are decoded on access, such as audio.
    if any(hasattr(feature, "decode_example") for feature in data.features.values()):
        return iter(data.with_format("numpy"))
    return iter(data.with_format("arrow").iter(_ROWS))


def row_of(element: Any) -> dict[str, Any]:
    """Return an element as a row: nested names are joined with slashes."""
    return dict(_named(element, _is_tuple))


def _named(element: Any, is_structure: Callable[[Any], bool], name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of an element, each with its name."""
    if isinstance(element, Mapping):
        items = [(str(key), value) for key, value in element.items()]
    elif is_structure(element):
        items = [(str(key), value) for key, value in enumerate(element)]
    else:
        yield name or "value", element
        return
    for key, value in items:
        yield from _named(value, is_structure, f"{name}/{key}" if name else key)


def _is_tuple(element: Any) -> bool:
    return isinstance(element, tuple)


def _is_list_of_columns(element: Any) -> bool:
    # A loader turns tuples into lists, and leaves strings in a list, which is a column.
    return isinstance(element, list | tuple) and not all(isinstance(value, str | bytes) for value in element)
