"""Columns of equal length, by name."""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock import _core, html
from penstock.columns.arrow_export import ArrowNode
from penstock.columns.column import AnyColumn, Column, Rows, arrow_node, as_column, describe, positions, to_list

Paths: TypeAlias = Mapping[str, tuple[str, ...]]

_LONGEST_LINE = 100


class UnbuiltColumns(Protocol):
    """Columns that are built when they are first used. Building cannot fail."""

    @property
    def names(self) -> Collection[str]:
        """The names of the columns, in order."""

    def build(self, name: str) -> AnyColumn:
        """Build one column."""

    def build_all(self) -> dict[str, AnyColumn]:
        """Build all columns."""


class Batch:
    """Columns of equal length, by name. Immutable: ``batch | {name: column}`` returns a new batch.

    ``len(batch)`` is the number of rows. Columns are reached by name, as in a mapping: ``batch["label"]``, ``keys()``,
    ``items()``, ``"label" in batch``, ``dict(batch)`` and ``f(**batch)``. Iterating over a batch raises TypeError:
    iterate over ``batch.column_names`` or ``batch.rows()``.

    A batch is not a ``collections.abc.Mapping``, because data frame libraries copy a mapping column by column, but
    share the memory of an object that exports Arrow data.

    Args:
        columns: A mapping of names to arrays, lists or columns, or another batch.
        num_rows: The number of rows; only needed for a batch without columns.

    Raises:
        ValueError: Columns have different lengths.

    Example:
        >>> batch = ps.Batch({"label": np.array([3, 1]), "score": np.array([0.5, 1.0])})
        >>> batch
        Batch(2 rows; label: int64[2], score: float64[2])
        >>> batch["label"]
        array([3, 1])
        >>> len(batch), batch.column_names
        (2, ['label', 'score'])
    """

    __slots__ = ("_built", "_num_rows", "_paths", "_unbuilt")

    def __init__(self, columns: Mapping[str, AnyColumn | ArrayLike] | Batch, *, num_rows: int | None = None) -> None:
        self._built: dict[str, AnyColumn] = {name: as_column(column) for name, column in columns.items()}
        self._unbuilt: UnbuiltColumns | None = None
        # Where columns are in rows of nested dicts; other columns are at the top, by their names.
        self._paths: Paths = columns._paths if isinstance(columns, Batch) else {}
        if num_rows is None:
            num_rows = len(next(iter(self._built.values()), ()))
        for name, column in self._built.items():
            if len(column) != num_rows:
                raise ValueError(
                    f"the columns of a batch must have equal lengths: expected {num_rows} rows, "
                    f"but {name!r} has {len(column)}"
                )
        self._num_rows = num_rows

    @property
    def _columns(self) -> dict[str, AnyColumn]:
        """All columns, by name."""
        unbuilt = self._unbuilt
        if unbuilt is not None:
            columns = unbuilt.build_all()
            columns.update(self._built)  # those that were built before stay the same objects
            self._built, self._unbuilt = columns, None
        return self._built

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {"_columns": self._columns, "_num_rows": self._num_rows, "_paths": self._paths}

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        self._built, self._unbuilt, self._num_rows = state[1]["_columns"], None, state[1]["_num_rows"]
        self._paths = state[1].get("_paths", {})

    @property
    def num_rows(self) -> int:
        """The number of rows, also ``len(batch)``.

        Example:
            >>> ps.Batch({"label": [3, 1]}).num_rows
            2
        """
        return self._num_rows

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order.

        Example:
            >>> ps.Batch({"label": [3, 1], "score": [0.5, 1.0]}).column_names
            ['label', 'score']
        """
        return list(self._built if self._unbuilt is None else self._unbuilt.names)

    def row(self, index: int) -> dict[str, Any]:
        """Return one row as a dict of NumPy values, bytes or str.

        A value that holds several strings or ragged levels is a list.

        Args:
            index: The number of the row; a negative one counts from the end.

        Raises:
            IndexError: The batch has no such row.

        Example:
            >>> batch = ps.Batch({"name": ps.BytesColumn.from_values(["a", "b"], text=True)})
            >>> batch.row(-1)
            {'name': 'b'}
        """
        if not -self._num_rows <= index < self._num_rows:
            raise IndexError(f"row {index} is out of range for a batch of {self._num_rows} rows")
        return nest_row({name: row_value(column, index) for name, column in self._columns.items()}, self._paths)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as dicts, with the values that :meth:`row` returns.

        Example:
            >>> batch = ps.Batch({"name": ps.BytesColumn.from_values(["a", "b"], text=True)})
            >>> for row in batch.rows():
            ...     print(row)
            {'name': 'a'}
            {'name': 'b'}
        """
        if not self._columns:
            return ({} for _ in range(self._num_rows))
        columns = map(_row_values, self._columns.values())
        rows = (dict(zip(self._columns, values, strict=True)) for values in zip(*columns, strict=True))
        return (nest_row(row, self._paths) for row in rows) if self._paths else rows

    def take(self, rows: Rows) -> Batch:
        """Return some of the rows as a batch.

        Args:
            rows: A slice, whose rows share memory with this batch; or row numbers or a boolean mask, whose rows are
                copied.

        Example:
            >>> batch = ps.Batch({"label": [3, 1, 2]})
            >>> batch.take([2, 0])["label"]
            array([2, 3])
            >>> batch.take(slice(1, None)).to_list()
            [{'label': 1}, {'label': 2}]
        """
        if isinstance(rows, int | np.integer):
            raise TypeError(f"take() expects several rows: use take([{rows}]), or row({rows}) for the values of one")
        if isinstance(rows, slice):
            num_rows = len(range(self._num_rows)[rows])
        else:
            rows = positions(rows, self._num_rows)
            num_rows = len(rows)
        columns = {name: column[rows] for name, column in self._columns.items()}
        return with_paths(Batch(columns, num_rows=num_rows), self._paths)

    def to_list(self) -> list[dict[str, Any]]:
        """Convert to Python objects: a list with a dict for each row.

        Example:
            >>> ps.Batch({"label": [3, 1], "box": [[0, 1], [2, 3]]}).to_list()
            [{'label': 3, 'box': [0, 1]}, {'label': 1, 'box': [2, 3]}]
        """
        columns = [to_list(column) for column in self._columns.values()]
        if not columns:
            return [{} for _ in range(self._num_rows)]
        rows = (dict(zip(self._columns, values, strict=True)) for values in zip(*columns, strict=True))
        return [nest_row(row, self._paths) for row in rows]

    def copy(self) -> Batch:
        """Return a batch with its own copy of every column.

        Example:
            >>> batch = ps.Batch({"label": np.array([3, 1])})
            >>> np.shares_memory(batch.copy()["label"], batch["label"])
            False
        """
        columns = {name: column.copy() for name, column in self._columns.items()}
        return with_paths(Batch(columns, num_rows=self._num_rows), self._paths)

    @overload
    def __getitem__(self, key: str) -> AnyColumn: ...

    @overload
    def __getitem__(self, key: NDArray[Any]) -> Batch: ...

    def __getitem__(self, key: str | NDArray[Any]) -> AnyColumn | Batch:
        """Return a column by its name, or the rows that a boolean mask or an array of row numbers selects."""
        try:
            return self._built[key]  # type: ignore[index]
        except (KeyError, TypeError):
            if self._unbuilt is not None and isinstance(key, str) and key in self._unbuilt.names:
                column = self._built[key] = self._unbuilt.build(key)
                return column
            if isinstance(key, np.ndarray) and key.ndim:
                return self.take(key)
            if not isinstance(key, str):
                raise TypeError(
                    "batch[...] expects the name of a column, or an array that selects rows: "
                    "use batch.row(index) or batch.take(rows) for rows by number"
                ) from None
            raise KeyError(f"no column {key!r}: the batch has {', '.join(self._columns) or 'no columns'}") from None

    def __len__(self) -> int:
        return self._num_rows

    if not TYPE_CHECKING:  # so that type checkers report a loop over a batch

        def __iter__(self) -> NoReturn:
            raise TypeError(
                "a batch is not iterable: use batch.column_names or batch.items() for its columns, "
                "and batch.rows() or batch.to_list() for its rows"
            )

    def __contains__(self, name: object) -> bool:
        return name in (self._built if self._unbuilt is None else self._unbuilt.names)

    def keys(self) -> KeysView[str]:
        """Return a view of the column names.

        Example:
            >>> ps.Batch({"label": [3, 1]}).keys()
            dict_keys(['label'])
        """
        return self._columns.keys()

    def values(self) -> ValuesView[AnyColumn]:
        """Return a view of the columns.

        Example:
            >>> list(ps.Batch({"label": [3, 1]}).values())
            [array([3, 1])]
        """
        return self._columns.values()

    def items(self) -> ItemsView[str, AnyColumn]:
        """Return a view of the names and columns.

        Example:
            >>> for name, column in ps.Batch({"label": [3, 1]}).items():
            ...     print(name, column.dtype)
            label int64
        """
        return self._columns.items()

    def __or__(self, other: Mapping[str, AnyColumn | ArrayLike] | Batch) -> Batch:
        return with_paths(Batch({**self._columns, **other}, num_rows=self._num_rows), self._paths)

    def __repr__(self) -> str:
        rows = f"{self._num_rows} rows" if self._num_rows != 1 else "1 row"
        parts = [f"{name}: {describe(column)}" for name, column in self._columns.items()]
        line = f"Batch({rows}; {', '.join(parts)})" if parts else f"Batch({rows})"
        return line if len(line) <= _LONGEST_LINE else f"Batch({rows};\n  " + ",\n  ".join(parts) + ")"

    def _repr_html_(self) -> str:
        rows = (list(self.row(index).values()) for index in range(min(html.ROWS, self._num_rows)))
        return html.table(self.column_names, rows, caption=f"Batch of {self._num_rows:,} rows")

    def _ipython_key_completions_(self) -> list[str]:
        return self.column_names

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


def unchecked_batch(columns: dict[str, AnyColumn], num_rows: int) -> Batch:
    """Build a batch of columns known to have ``num_rows`` rows: checking many small columns takes time."""
    batch = Batch.__new__(Batch)
    batch._built, batch._unbuilt, batch._num_rows, batch._paths = columns, None, num_rows, {}
    return batch


def unbuilt_batch(columns: UnbuiltColumns, num_rows: int) -> Batch:
    """Build a batch whose columns are built when they are first used: many loops use few of them."""
    batch = Batch.__new__(Batch)
    batch._built, batch._unbuilt, batch._num_rows, batch._paths = {}, columns, num_rows, {}
    return batch


def with_paths(batch: Batch, paths: Paths) -> Batch:
    """Return a new batch with the places that its columns have in rows of nested dicts."""
    batch._paths = paths
    return batch


def nest_row(row: dict[str, Any], paths: Paths) -> dict[str, Any]:
    """Return a row with its values at their places in nested dicts."""
    if not paths:
        return row
    nested: dict[str, Any] = {}
    for name, value in row.items():
        *above, leaf = paths.get(name, (name,))
        place = nested
        for part in above:
            place = place.setdefault(part, {})
        place[leaf] = value
    return nested


def _named_node(name: str, column: AnyColumn) -> ArrowNode:
    try:
        return arrow_node(column)._replace(name=name)
    except TypeError as error:
        raise TypeError(f"column {name!r}: {error}") from error


def row_value(column: AnyColumn, index: int) -> Any:
    """Return one row of a column as a NumPy value, bytes or str, or as a list if it has several strings or levels."""
    value = column[index]
    # The values of an array are never columns: skip the check, which would cost more than the lookup.
    return value if isinstance(column, np.ndarray) or not isinstance(value, Column) else value.to_list()


def _row_values(column: AnyColumn) -> Iterable[Any]:
    if isinstance(column, np.ndarray):
        return column
    return (value.to_list() if isinstance(value, Column) else value for value in column)
