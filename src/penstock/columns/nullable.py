"""Rows that may be absent: any column, and which of its rows are there."""

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
    check_length,
    describe,
    fill,
    pad,
    padding_of,
    rows_of,
    several,
    to_list,
)


class Nullable(Column):
    """A column whose row ``i`` is None unless ``valid[i]``.

    An absent row compares False with everything, by ``!=`` too: no mask picks it but ``~column.valid``.

    >>> Nullable(np.array([1, 0, 3]), [True, False, True]).to_list()
    [1, None, 3]
    """

    def __init__(self, values: AnyColumn | ArrayLike, valid: ArrayLike) -> None:
        self._values = as_column(values)
        self._valid = np.asarray(valid)
        if isinstance(self._values, Nullable):
            raise TypeError("the values are Nullable already")
        if self._valid.dtype != np.bool_ or self._valid.shape != (len(self._values),):
            found = f"{self._valid.dtype}{list(self._valid.shape)}"
            raise TypeError(f"valid must be bool[{len(self._values)}], one for each row; found {found}")

    @property
    def values(self) -> AnyColumn:
        """The values of all rows; what lies in an absent row means nothing."""
        return self._values

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which rows are there."""
        return self._valid

    @property
    def null_count(self) -> int:
        """How many rows are absent."""
        return len(self._valid) - int(np.count_nonzero(self._valid))

    @property
    def nbytes(self) -> int:
        return self._values.nbytes + self._valid.nbytes

    def __len__(self) -> int:
        return len(self._valid)

    def __repr__(self) -> str:
        return f"Nullable({describe(self._values)}, {self.null_count} absent)"

    def to_list(self) -> list[Any]:
        if not self.null_count:
            return to_list(self._values)
        # What lies in absent rows may not even decode: only the others are touched.
        rows: list[Any] = [None] * len(self)
        present = np.flatnonzero(self._valid)
        for row, value in zip(present.tolist(), to_list(self._values[present]), strict=True):
            rows[row] = value
        return rows

    def fill(self, value: Any) -> AnyColumn:
        """Put a value into the absent rows; ragged rows are filled with nothing, ``[]``."""
        return fill(self._values, ~self._valid, value)

    def isin(self, values: Iterable[Any]) -> NDArray[np.bool_]:
        """Return which values are equal to one of ``values``; absent rows are not."""
        present = self._values[self._valid]
        if isinstance(present, Column):
            return self._where(self._valid, present.isin(values))
        wanted = np.asarray(list(several(values)))
        _check_numbers(present, wanted)
        return self._where(self._valid, np.isin(present, wanted))

    def _compared(self, other: object, compare: Comparison) -> NDArray[np.bool_]:
        valid = self._valid
        if isinstance(other, Nullable):
            check_length(len(self), len(other))
            valid = valid & other._valid
            other = other._values
        # What lies in absent rows may be anything: only the others are compared.
        present = self._values[valid]
        rows = rows_of(other, None if isinstance(present, np.ndarray) else object)
        if rows is not None:
            check_length(len(self), len(rows))
            other = rows[valid]
        if isinstance(present, np.ndarray) and not isinstance(other, Column):
            array = np.asarray(other)
            _check_numbers(present, array)
            if array.ndim and array.shape != present.shape:
                raise ValueError(f"rows of shape {present.shape[1:]} cannot be compared with {array.shape[1:]}")
        return self._where(valid, compare(present, other))

    def _where(self, valid: NDArray[np.bool_], found: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return what was found in the rows that are there, and False in the others."""
        result = np.zeros((len(self), *found.shape[1:]), bool)
        result[valid] = found
        return result

    def copy(self) -> Self:
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
    """Check that values can be compared one by one: NumPy would call numbers and strings different without a word."""
    if values.dtype == object:
        raise TypeError("rows are arrays of unequal shapes, which do not compare value by value: use column.to_list()")
    if other.dtype.kind in "OSU":
        raise TypeError(
            f"a column of {values.dtype} is compared with numbers, not with {other.dtype}; absent rows are ~valid"
        )
