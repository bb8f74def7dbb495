"""Rows that may be absent: any column, and a mask of its valid rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.columns.arrow_export import ArrowNode, pack_bits
from penstock.columns.column import (
    AnyColumn,
    Column,
    Comparison,
    arrow_node,
    as_column,
    check_same_length,
    column_or_none,
    describe,
    fill,
    isin_values,
    pad,
    padding_of,
    to_list,
)


class Nullable(Column):
    """A column whose row ``i`` is None unless ``valid[i]`` is True.

    Every comparison with an absent row is False, ``!=`` included. To select absent rows, use ``~column.valid``.

    Args:
        values: Any column that is not Nullable; the values of absent rows are ignored.
        valid: Booleans, one for each row.

    Example:
        >>> ages = ps.Nullable(np.array([31, 0, 47]), [True, False, True])
        >>> ages
        Nullable(int64[3], 1 absent)
        >>> ages > 40
        array([False, False,  True])
    """

    def __init__(self, values: AnyColumn | ArrayLike, valid: ArrayLike) -> None:
        self._values = as_column(values)
        self._valid = np.asarray(valid)
        if isinstance(self._values, Nullable):
            raise TypeError("values must not be Nullable: pass nullable.values and a combined mask")
        if self._valid.dtype != np.bool_ or self._valid.shape != (len(self._values),):
            found = f"{self._valid.dtype}{list(self._valid.shape)}"
            raise TypeError(f"valid must be bool[{len(self._values)}], one for each row, found {found}")

    @property
    def values(self) -> AnyColumn:
        """The values of all rows; those of absent rows have no meaning.

        Example:
            >>> ps.Nullable(np.array([31, 0, 47]), [True, False, True]).values
            array([31,  0, 47])
        """
        return self._values

    @property
    def valid(self) -> NDArray[np.bool_]:
        """A boolean array: which rows have a value.

        Example:
            >>> ps.Nullable(np.array([31, 0, 47]), [True, False, True]).valid
            array([ True, False,  True])
        """
        return self._valid

    @property
    def null_count(self) -> int:
        """The number of absent rows.

        Example:
            >>> ps.Nullable(np.array([31, 0, 47]), [True, False, True]).null_count
            1
        """
        return len(self._valid) - int(np.count_nonzero(self._valid))

    @property
    def nbytes(self) -> int:
        """The number of bytes of memory that the column keeps alive.

        Example:
            >>> ps.Nullable(np.array([31, 0, 47]), [True, False, True]).nbytes
            27
        """
        return self._values.nbytes + self._valid.nbytes

    def __len__(self) -> int:
        return len(self._valid)

    def __repr__(self) -> str:
        return f"Nullable({describe(self._values)}, {self.null_count} absent)"

    def to_list(self) -> list[Any]:
        """Convert to Python objects: a list with an item for each row, None for absent rows.

        Example:
            >>> ps.Nullable(np.array([31, 0, 47]), [True, False, True]).to_list()
            [31, None, 47]
        """
        if not self.null_count:
            return to_list(self._values)
        # The values of absent rows may be invalid, such as bytes that are not UTF-8: convert the others only.
        rows: list[Any] = [None] * len(self)
        present = np.flatnonzero(self._valid)
        for row, value in zip(present.tolist(), to_list(self._values[present]), strict=True):
            rows[row] = value
        return rows

    def fill(self, value: Any) -> AnyColumn:
        """Return the values with ``value`` in absent rows. Ragged rows can only be filled with ``[]``.

        Example:
            >>> ps.Nullable(np.array([31, 0, 47]), [True, False, True]).fill(-1)
            array([31, -1, 47])
        """
        return fill(self._values, ~self._valid, value)

    def isin(self, values: Iterable[Any]) -> NDArray[np.bool_]:
        """Return a boolean array: which values are equal to one of ``values``; False for absent rows.

        Example:
            >>> ps.Nullable(np.array([31, 0, 47]), [True, False, True]).isin([0, 47])
            array([False, False,  True])
        """
        present = self._values[self._valid]
        if isinstance(present, Column):
            return self._expand(self._valid, present.isin(values))
        wanted = np.asarray(isin_values(values))
        _check_numbers(present, wanted)
        return self._expand(self._valid, np.isin(present, wanted))

    def _compared(self, other: object, compare: Comparison) -> NDArray[np.bool_]:
        valid = self._valid
        if isinstance(other, Nullable):
            check_same_length(len(self), len(other))
            valid = valid & other._valid
            other = other._values
        # The values of absent rows may be anything: compare the others only.
        present = self._values[valid]
        rows = column_or_none(other, None if isinstance(present, np.ndarray) else object)
        if rows is not None:
            check_same_length(len(self), len(rows))
            other = rows[valid]
        if isinstance(present, np.ndarray) and not isinstance(other, Column):
            array = np.asarray(other)
            _check_numbers(present, array)
            if array.ndim and array.shape != present.shape:
                raise ValueError(f"rows of shape {present.shape[1:]} cannot be compared with {array.shape[1:]}")
        return self._expand(valid, compare(present, other))

    def _expand(self, valid: NDArray[np.bool_], found: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return an array for all rows: ``found`` in the valid ones, False in the others."""
        result = np.zeros((len(self), *found.shape[1:]), bool)
        result[valid] = found
        return result

    def copy(self) -> Self:
        """Return a copy that shares no memory.

        Example:
            >>> ps.Nullable(np.array([31, 0]), [True, False]).copy().to_list()
            [31, None]
        """
        return type(self)(self._values.copy(), self._valid.copy())

    def _arrow_node(self) -> ArrowNode:
        node = arrow_node(self._values)
        bitmap = pack_bits(self._valid)
        return node._replace(buffers=(bitmap, *node.buffers[1:]), null_count=self.null_count, nullable=True)

    def _row(self, index: int) -> Any:
        return self._values[index] if self._valid[index] else None

    def _slice(self, start: int, stop: int) -> Self:
        return type(self)(self._values[start:stop], self._valid[start:stop])

    def _take(self, positions: NDArray[np.int64]) -> Self:
        return type(self)(self._values[positions], self._valid[positions])

    def _filled(self, rows: NDArray[np.bool_], value: Any) -> Self:
        return type(self)(fill(self._values, rows, value), self._valid | rows)

    def _padded(self, value: Any, lengths: Sequence[int | None]) -> NDArray[Any]:
        present = pad(self._values[self._valid], value, lengths)
        padded = np.full((len(self), *present.shape[1:]), value, present.dtype)
        padded[self._valid] = present
        return padded

    @property
    def _padding(self) -> Any:
        return padding_of(self._values)


def _check_numbers(values: NDArray[Any], other: NDArray[Any]) -> None:
    """Check that values can be compared one by one: NumPy would silently call numbers and strings different."""
    if values.dtype == object:
        raise TypeError("rows are arrays of different shapes, which cannot be compared: use column.to_list()")
    if other.dtype.kind in "OSU":
        raise TypeError(
            f"a column of {values.dtype} can only be compared with numbers, not with {other.dtype}; "
            "to select absent rows, use ~column.valid"
        )
