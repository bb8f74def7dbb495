"""The verbs that every column shares, and what a column that is not a plain array must define."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, Self, SupportsIndex, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.columns.arrow_export import ArrowNode, dense_node

Rows: TypeAlias = slice | NDArray[Any] | Sequence[int]

Comparison: TypeAlias = Callable[[Any, Any], Any]
"""One of the six comparisons, such as ``operator.lt``."""


class Column(ABC):
    """A column that is not a dense array. Immutable: ``copy`` detaches it from memory that it shares.

    ``==``, ``!=``, ``<``, ``<=``, ``>`` and ``>=`` compare each value with a scalar, or with the same row of a column
    or array of equal length, and return a bool array. Like arrays, columns are not hashable. What cannot be compared
    value by value raises TypeError.
    """

    __array_priority__ = 100  # so that NumPy's arrays leave comparisons with columns to us

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _row(self, index: int) -> Any:
        """Return one row; the index is in range."""

    @abstractmethod
    def _slice(self, start: int, stop: int) -> Self:
        """Return rows that share this column's memory; the range is inside the column."""

    @abstractmethod
    def _take(self, positions: NDArray[np.int64]) -> Self:
        """Gather rows; the positions are in range."""

    @abstractmethod
    def to_list(self) -> list[Any]:
        """Convert to Python objects, a list item for each row."""

    @abstractmethod
    def copy(self) -> Self:
        """Copy the rows, and nothing else, to memory of their own."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of memory that the column keeps alive."""

    @abstractmethod
    def _arrow_node(self) -> ArrowNode:
        """Describe the column for Arrow."""

    @abstractmethod
    def _filled(self, rows: NDArray[np.bool_], value: Any) -> Self:
        """Return the column with one value in the marked rows."""

    @abstractmethod
    def _padded(self, value: Any, lengths: Sequence[int | None]) -> NDArray[Any]:
        """Convert to an array, with ragged levels padded to the lengths."""

    @property
    @abstractmethod
    def _padding(self) -> Any:
        """The value to pad with where none is named."""

    @abstractmethod
    def _compared(self, other: object, compare: Comparison) -> NDArray[np.bool_]:
        """Compare each value with a scalar, or with the same row of another column or array."""

    @abstractmethod
    def isin(self, values: Iterable[Any]) -> NDArray[np.bool_]:
        """Return which values are equal to one of ``values``."""

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
            raise IndexError(f"row {index} of a column of {len(self)} rows")
        return self._row(index % len(self))

    def __iter__(self) -> Iterator[Any]:
        return (self._row(index) for index in range(len(self)))

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        # NumPy would read any sequence as an array, and what comes out would depend on the values.
        ways = [f"{way}()" for way in ("to_numpy", "to_padded", "fill", "to_list") if hasattr(self, way)]
        raise TypeError(f"{type(self).__name__} is no array: convert it with {' or '.join(ways)}")

    def __arrow_c_schema__(self) -> object:
        return _core.arrow_schema(self._arrow_node())

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        node = self._arrow_node()
        return _core.arrow_schema(node), _core.arrow_array(node)


AnyColumn: TypeAlias = NDArray[Any] | Column


def as_column(values: Any) -> AnyColumn:
    """Return a column as it is, and anything else as an array with rows."""
    if isinstance(values, Column):
        return values
    array = np.asarray(values)
    if array.ndim == 0:
        raise TypeError("a column has at least one dimension: its rows")
    return array


def arrow_node(column: AnyColumn) -> ArrowNode:
    """Describe any column for Arrow."""
    return column._arrow_node() if isinstance(column, Column) else dense_node(column)


def to_list(column: AnyColumn) -> list[Any]:
    """Convert any column to Python objects, a list item for each row."""
    if isinstance(column, Column):
        return column.to_list()
    values: list[Any] = column.tolist()
    return values


def fill(column: AnyColumn, rows: NDArray[np.bool_], value: Any) -> AnyColumn:
    """Return any column with one value in the marked rows."""
    if isinstance(column, Column):
        return column._filled(rows, value)
    filled = column.copy()
    filled[rows] = value
    return filled


def pad(column: AnyColumn, value: Any, lengths: Sequence[int | None]) -> NDArray[Any]:
    """Convert any column to an array, with ragged levels padded to the lengths."""
    return column._padded(value, lengths) if isinstance(column, Column) else column


def padding_of(column: AnyColumn) -> Any:
    """Return the value to pad with where none is named: zero, or an empty string."""
    return column._padding if isinstance(column, Column) else 0


def describe(column: AnyColumn) -> str:
    """Describe any column in a few words."""
    return repr(column) if isinstance(column, Column) else f"{column.dtype}{list(column.shape)}"


def check_length(length: int, other: int) -> None:
    """Check that two columns have a row for each other."""
    if length != other:
        raise ValueError(f"a column of {length} rows cannot be compared with one of {other}: lengths must be equal")


def rows_of(values: object, dtype: Any = None) -> AnyColumn | None:
    """Return a column for a column, an array or a list, and None for a scalar, which has no rows."""
    if isinstance(values, Column):
        return values
    if not isinstance(values, (list, tuple)) and not hasattr(values, "__array__"):
        return None
    array = np.asarray(values, dtype)
    return array if array.ndim else None


def several(values: Iterable[Any]) -> Iterable[Any]:
    """Return what ``isin`` looks for; one string is a mistake, whose characters nobody means."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"isin() takes several values: write isin([{values!r}])")
    return values


def positions(rows: NDArray[Any] | Sequence[int], length: int) -> NDArray[np.int64]:
    """Return the numbers of the rows that an array names or marks, by NumPy's rules."""
    picks = np.asarray(rows)
    if not picks.size and picks.dtype != np.bool_:
        picks = picks.astype(np.int64)  # nothing is picked: NumPy makes an empty list one of floats
    if picks.ndim != 1:
        raise IndexError("rows are picked by a slice or by one dimension of numbers or booleans")
    if picks.dtype == np.bool_ and len(picks) != length:
        raise IndexError(f"a mask of {len(picks)} rows does not fit {length} rows: it marks each of them")
    picked: NDArray[np.int64] = np.arange(length)[picks]
    return picked
