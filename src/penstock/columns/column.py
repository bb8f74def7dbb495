"""The interface of columns that are not plain arrays, and functions that work on any column."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, Self, SupportsIndex, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from penstock import _core, html
from penstock.columns.arrow_export import ArrowNode, dense_node

Rows: TypeAlias = slice | NDArray[Any] | Sequence[int]

Comparison: TypeAlias = Callable[[Any, Any], Any]
"""One of the six comparisons, such as ``operator.lt``."""


class Column(ABC):
    """A column that is not a dense array. Immutable; it may share memory with other columns until it is copied.

    ``column[i]`` is a row; ``column[1:5]`` is a column that shares memory; ``column[[4, 2]]`` and ``column[mask]`` are
    copies. ``==``, ``!=``, ``<``, ``<=``, ``>`` and ``>=`` compare each value with a scalar, or with the same row of a
    column or array of equal length, and return a boolean array. Values that cannot be compared raise TypeError. Like
    arrays, columns are not hashable.
    """

    __array_priority__ = 100  # NumPy arrays leave comparisons with columns to this class

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _row(self, index: int) -> Any:
        """Return one row. The index is in range."""

    @abstractmethod
    def _slice(self, start: int, stop: int) -> Self:
        """Return rows that share this column's memory. The range is inside the column."""

    @abstractmethod
    def _take(self, positions: NDArray[np.int64]) -> Self:
        """Gather rows. The positions are in range."""

    @abstractmethod
    def to_list(self) -> list[Any]:
        """Convert to Python objects: a list with an item for each row."""

    @abstractmethod
    def copy(self) -> Self:
        """Return a copy that shares no memory and holds only its own rows."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The number of bytes of memory that the column keeps alive."""

    @abstractmethod
    def _arrow_node(self) -> ArrowNode:
        """Describe the column for the Arrow exporter."""

    @abstractmethod
    def _filled(self, rows: NDArray[np.bool_], value: Any) -> Self:
        """Return the column with ``value`` in the rows where ``rows`` is True."""

    @abstractmethod
    def _padded(self, value: Any, lengths: Sequence[int | None]) -> NDArray[Any]:
        """Convert to an array, with ragged levels padded to ``lengths``."""

    @property
    @abstractmethod
    def _padding(self) -> Any:
        """The default value to pad with."""

    @abstractmethod
    def _compared(self, other: object, compare: Comparison) -> NDArray[np.bool_]:
        """Compare each value with a scalar, or with the same row of another column or array."""

    @abstractmethod
    def isin(self, values: Iterable[Any]) -> NDArray[np.bool_]:
        """Return a boolean array: which values are equal to one of ``values``."""

    def _repr_html_(self) -> str:
        rows = ([index, self._row(index)] for index in range(min(html.ROWS, len(self))))
        return html.table(["row", type(self).__name__], rows, caption=f"{type(self).__name__} of {len(self):,} rows")

    def __eq__(self, other: object) -> NDArray[np.bool_]:  # type: ignore[override]
        return self._compared(other, operator.eq)

    def __ne__(self, other: object) -> NDArray[np.bool_]:  # type: ignore[override]
        return self._compared(other, operator.ne)

    def __lt__(self, other: object) -> NDArray[np.bool_]:
        return self._compared(other, operator.lt)

    def __le__(self, other: object) -> NDArray[np.bool_]:
        return self._compared(other, operator.le)

    def __gt__(self, other: object) -> NDArray[np.bool_]:
        return self._compared(other, operator.gt)

    def __ge__(self, other: object) -> NDArray[np.bool_]:
        return self._compared(other, operator.ge)

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, rows: SupportsIndex) -> Any: ...

    @overload
    def __getitem__(self, rows: Rows) -> Self: ...

    def __getitem__(self, rows: SupportsIndex | Rows) -> Any:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._slice(start, max(start, stop))
            return self._take(np.arange(start, stop, step))
        if isinstance(rows, (np.ndarray, Sequence)) and np.ndim(rows) != 0:
            return self._take(positions(rows, len(self)))
        index = operator.index(rows)  # type: ignore[arg-type]
        if not -len(self) <= index < len(self):
            raise IndexError(f"row {index} is out of range for a column of {len(self)} rows")
        return self._row(index % len(self))

    def __iter__(self) -> Iterator[Any]:
        return (self._row(index) for index in range(len(self)))

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        # NumPy would convert a column like any sequence, to a dtype and shape that depend on the values.
        ways = [f"{way}()" for way in ("to_numpy", "to_padded", "fill", "to_list") if hasattr(self, way)]
        raise TypeError(f"a {type(self).__name__} does not convert to an array implicitly: use {' or '.join(ways)}")

    def __arrow_c_schema__(self) -> object:
        return _core.arrow_schema(self._arrow_node())

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        node = self._arrow_node()
        return _core.arrow_schema(node), _core.arrow_array(node)


AnyColumn: TypeAlias = NDArray[Any] | Column


def as_column(values: Any) -> AnyColumn:
    """Return a column unchanged, and anything else as an array."""
    if isinstance(values, Column):
        return values
    array = np.asarray(values)
    if array.ndim == 0:
        raise TypeError("a column needs at least one dimension: its rows")
    return array


def arrow_node(column: AnyColumn) -> ArrowNode:
    """Describe any column for the Arrow exporter."""
    return column._arrow_node() if isinstance(column, Column) else dense_node(column)


def to_list(column: AnyColumn) -> list[Any]:
    """Convert any column to Python objects: a list with an item for each row."""
    if isinstance(column, Column):
        return column.to_list()
    values: list[Any] = column.tolist()
    return values


def fill(column: AnyColumn, rows: NDArray[np.bool_], value: Any) -> AnyColumn:
    """Return any column with ``value`` in the rows where ``rows`` is True."""
    if isinstance(column, Column):
        return column._filled(rows, value)
    filled = column.copy()
    filled[rows] = value
    return filled


def pad(column: AnyColumn, value: Any, lengths: Sequence[int | None]) -> NDArray[Any]:
    """Convert any column to an array, with ragged levels padded to ``lengths``."""
    return column._padded(value, lengths) if isinstance(column, Column) else column


def padding_of(column: AnyColumn) -> Any:
    """Return the default value to pad with: zero, or an empty string."""
    return column._padding if isinstance(column, Column) else 0


def describe(column: AnyColumn) -> str:
    """Return a short description of any column."""
    return repr(column) if isinstance(column, Column) else f"{column.dtype}{list(column.shape)}"


def check_same_length(length: int, other: int) -> None:
    """Check that two columns can be compared row by row."""
    if length != other:
        raise ValueError(f"a column of {length} rows cannot be compared with one of {other}: lengths must be equal")


def column_or_none(values: object, dtype: Any = None) -> AnyColumn | None:
    """Return a column, an array or a list as a column, and None for a scalar."""
    if isinstance(values, Column):
        return values
    if not isinstance(values, (list, tuple)) and not hasattr(values, "__array__"):
        return None
    array = np.asarray(values, dtype)
    return array if array.ndim else None


def isin_values(values: Iterable[Any]) -> list[Any]:
    """Return the values to look for as a list; raise for a single string, which would be split into characters."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"isin() expects several values: write isin([{values!r}])")
    return list(values)


def positions(rows: NDArray[Any] | Sequence[int], length: int) -> NDArray[np.int64]:
    """Return the row numbers that an array of row numbers or a boolean mask selects, by NumPy's rules."""
    picks = np.asarray(rows)
    if not picks.size and picks.dtype != np.bool_:
        picks = picks.astype(np.int64)  # NumPy converts an empty list to floats
    if picks.ndim != 1:
        raise IndexError(
            f"rows are selected by a slice, row numbers or a mask: expected 1 dimension, found {picks.ndim}"
        )
    if picks.dtype == np.bool_ and len(picks) != length:
        raise IndexError(f"a mask needs one value for each of the {length} rows, found {len(picks)}")
    picked: NDArray[np.int64] = np.arange(length)[picks]
    return picked
