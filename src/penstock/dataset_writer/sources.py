"""What a user hands to be written: tables in memory, of known length, or streams of rows and of tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.codec.given_columns import as_column, is_arrow
from penstock.columns import Batch, Nullable, batches_from_arrow, from_arrow
from penstock.dataset_writer.framework_sources import open_framework_source
from penstock.errors import import_extra
from penstock.schema import Schema
from penstock.schema.arrow_tables import recorded_schema

Rows: TypeAlias = slice | NDArray[np.int64]
Columns: TypeAlias = Mapping[str, Any] | Batch


_NAMELESS = 'a column has a name, and this {0} has none: write {{"name": values}}'


class Table(Protocol):
    """Columns in memory, or where memory is mapped."""

    @property
    def num_rows(self) -> int:
        """The length of every column."""

    def take(self, rows: Rows) -> Columns:
        """Answer some rows; a slice shares memory."""

    def sample(self) -> Columns:
        """Answer columns from which a schema can be drawn."""


class ColumnTable:
    """Columns by name: arrays, columns, tensors and lists of rows."""

    def __init__(self, columns: Columns) -> None:
        self._columns = {name: as_column(name, column) for name, column in columns.items()}
        self._num_rows = columns.num_rows if isinstance(columns, Batch) else len(next(iter(self._columns.values()), ()))
        for name, column in self._columns.items():
            if len(column) != self._num_rows:
                raise ValueError(f"columns are of equal length: {self._num_rows} rows, but {name!r} has {len(column)}")

    @property
    def num_rows(self) -> int:
        return self._num_rows

    def take(self, rows: Rows) -> Columns:
        return {name: _take(column, rows) for name, column in self._columns.items()}

    def sample(self) -> Columns:
        return self._columns


class ArrowTable:
    """A table that speaks Arrow; it is converted piece by piece, so that one which is mapped need not fit memory."""

    def __init__(self, data: Any) -> None:
        arrow = import_extra("pyarrow", "arrow", "writing Arrow data")
        try:
            self._table = arrow.table(data)
        except arrow.ArrowInvalid:
            raise TypeError(_NAMELESS.format(type(data).__name__)) from None

    @property
    def num_rows(self) -> int:
        return int(self._table.num_rows)

    def take(self, rows: Rows) -> Columns:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.num_rows)
            return from_arrow(self._table.slice(start, stop - start))
        return self._whole.take(rows)

    @cached_property
    def _whole(self) -> Batch:
        # pyarrow gathers rows of some types only.
        return from_arrow(self._table)

    def sample(self) -> Columns:
        # Types tell everything but whether values are absent, which the whole column tells.
        head = from_arrow(self._table.slice(0, 1))
        nullable = {name for name, column in zip(head, self._table.columns, strict=True) if column.null_count}
        return {name: _as_nullable(column) if name in nullable else column for name, column in head.items()}


def open_source(data: Any) -> Table | Iterator[Any]:
    """Answer a table, or an iterator of rows or of tables."""
    if isinstance(data, Batch | Mapping):
        return ColumnTable(data)
    if _is_pandas(data):
        return ColumnTable(_from_pandas(data))
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
    """Answer the schema that an Arrow table or reader brings along from the data set that it was made of."""
    columns: Any = getattr(data, "schema", None)
    if not is_arrow(data) or not hasattr(columns, "metadata"):
        return None
    schema = recorded_schema(columns)
    if schema is None or not hasattr(data, "columns"):
        return schema
    # Values that have come to be absent since would not be found there.
    lacking = [schema[name] for name, column in zip(columns.names, data.columns, strict=True) if column.null_count]
    return schema if all(feature.optional or feature.has_default for feature in lacking) else None


def as_table(item: Any) -> Table | None:
    """Answer an item of a stream as a table; None where it is a row."""
    if isinstance(item, Batch):
        return ColumnTable(item)
    if is_arrow(item):
        return ArrowTable(item)
    return ColumnTable(_from_pandas(item)) if _is_pandas(item) else None


def peek(items: Iterator[Any]) -> tuple[Any, Iterator[Any]]:
    """Answer the first item, None where there is none, and all of them."""
    for first in items:
        return first, chain([first], items)
    return None, items


def _as_nullable(column: Any) -> Nullable:
    return column if isinstance(column, Nullable) else Nullable(column, np.ones(len(column), np.bool_))


def _take(column: Any, rows: Rows) -> Any:
    if isinstance(column, list) and not isinstance(rows, slice):
        return [column[row] for row in rows.tolist()]
    return column[rows]


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")


def _from_pandas(frame: Any) -> dict[str, Any]:
    """Answer the columns of a data frame; its own Arrow export would make NaN absent, and the index a column."""
    columns: dict[str, Any] = {}
    for position, name in enumerate(frame.columns):
        if str(name) in columns:
            raise ValueError(f"two columns have the name {str(name)!r}")
        series = frame.iloc[:, position]
        plain = isinstance(series.dtype, np.dtype)
        columns[str(name)] = series.to_numpy() if plain else _from_extension(series)
    return columns


def _from_extension(series: Any) -> Any:
    arrow = import_extra("pyarrow", "arrow", f"writing the pandas type {series.dtype}")
    return from_arrow(arrow.table({"": arrow.array(series, from_pandas=True)}))[""]
