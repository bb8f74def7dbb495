"""Columns of equal length, by name."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.columns.arrow_export import ArrowNode
from penstock.columns.column import AnyColumn, Column, Rows, arrow_node, as_column, describe, positions, to_list


class Batch:
    """Columns of equal length, by name, with the methods of a mapping; immutable: ``batch | {name: column}`` is new.

    It is no ``Mapping`` by type. Data frame libraries take a mapping apart and copy what is in it; asked for its Arrow
    data they share the memory. ``dict(batch)`` and ``f(**batch)`` work all the same.

    >>> batch = Batch({"label": np.array([3, 1]), "score": np.array([0.5, 1.0])})
    >>> batch.to_list()
    [{'label': 3, 'score': 0.5}, {'label': 1, 'score': 1.0}]
    """

    __slots__ = ("_columns", "_num_rows")

    def __init__(self, columns: Mapping[str, Any] | Batch, *, num_rows: int | None = None) -> None:
        self._columns: dict[str, AnyColumn] = {name: as_column(column) for name, column in columns.items()}
        if num_rows is None:
            num_rows = len(next(iter(self._columns.values()), ()))
        for name, column in self._columns.items():
            if len(column) != num_rows:
                raise ValueError(
                    f"columns of a batch are of equal length: {num_rows} rows, but {name!r} has {len(column)}"
                )
        self._num_rows = num_rows

    @property
    def num_rows(self) -> int:
        """The length of every column."""
        return self._num_rows

    def row(self, index: int) -> dict[str, Any]:
        """Return one row as NumPy values, bytes or str; as a list where it has several strings or ragged levels."""
        if not -self._num_rows <= index < self._num_rows:
            raise IndexError(f"row {index} of a batch of {self._num_rows} rows")
        return {name: row_value(column, index) for name, column in self._columns.items()}

    def take(self, rows: Rows) -> Batch:
        """Return the rows of a slice, which share memory, or copies of those that an array names or marks."""
        if isinstance(rows, int | np.integer):
            raise TypeError(f"take() answers a batch: write take([{rows}]), or row({rows}) for its values")
        if isinstance(rows, slice):
            num_rows = len(range(self._num_rows)[rows])
        else:
            rows = positions(rows, self._num_rows)
            num_rows = len(rows)
        columns = {name: column[rows] for name, column in self._columns.items()}
        return Batch(columns, num_rows=num_rows)

    def to_list(self) -> list[dict[str, Any]]:
        """Convert to Python objects, a dict for each row."""
        columns = [to_list(column) for column in self._columns.values()]
        if not columns:
            return [{} for _ in range(self._num_rows)]
        return [dict(zip(self._columns, values, strict=True)) for values in zip(*columns, strict=True)]

    def copy(self) -> Batch:
        """Copy all columns to memory of their own."""
        return Batch({name: column.copy() for name, column in self._columns.items()}, num_rows=self._num_rows)

    @overload
    def __getitem__(self, name: str) -> AnyColumn: ...

    @overload
    def __getitem__(self, name: NDArray[Any]) -> Batch: ...

    def __getitem__(self, name: str | NDArray[Any]) -> AnyColumn | Batch:
        """Return a column by its name, or the rows that an array marks (of bool, one for each row) or names."""
        try:
            return self._columns[name]  # type: ignore[index]
        except (KeyError, TypeError):
            if isinstance(name, np.ndarray) and name.ndim:
                return self.take(name)
            if not isinstance(name, str):
                raise TypeError(
                    "columns go by name, rows by an array, batch[mask]; see also batch.row(index) and batch.take(rows)"
                ) from None
            raise KeyError(f"no column {name!r}: there are {', '.join(self._columns)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._columns.keys()

    def values(self) -> ValuesView[AnyColumn]:
        """Return the columns."""
        return self._columns.values()

    def items(self) -> ItemsView[str, AnyColumn]:
        """Return names and columns."""
        return self._columns.items()

    def __or__(self, other: Mapping[str, Any] | Batch) -> Batch:
        return Batch({**self, **other}, num_rows=self._num_rows)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {describe(column)}" for name, column in self._columns.items())
        return f"Batch({self._num_rows} rows; {columns})"

    def _arrow_node(self) -> ArrowNode:
        """Describe the batch for Arrow: a struct of its columns."""
        children = tuple(_named_node(name, column) for name, column in self._columns.items())
        return ArrowNode("+s", self._num_rows, (None,), children, name="")

    def __arrow_c_schema__(self) -> object:
        return _core.arrow_schema(self._arrow_node())

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        node = self._arrow_node()
        return _core.arrow_schema(node), _core.arrow_array(node)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return _core.arrow_stream(self._arrow_node())


def batch_of_equal_columns(columns: dict[str, AnyColumn], num_rows: int) -> Batch:
    """Build from columns that are known to be columns of ``num_rows`` rows: checking many small ones costs time."""
    batch = Batch.__new__(Batch)
    batch._columns, batch._num_rows = columns, num_rows
    return batch


def _named_node(name: str, column: AnyColumn) -> ArrowNode:
    try:
        return arrow_node(column)._replace(name=name)
    except TypeError as error:
        raise TypeError(f"column {name!r}: {error}") from error


def row_value(column: AnyColumn, index: int) -> Any:
    """Return one row of a column as a NumPy value, bytes or str; as a list where it has several strings or levels."""
    value = column[index]
    # What an array holds is no column: asked of each value of each row, the question would cost more than the answer.
    return value if isinstance(column, np.ndarray) or not isinstance(value, Column) else value.to_list()
