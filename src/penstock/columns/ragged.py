"""Rows of different lengths: the values of all rows, and the offsets of each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.columns.arrow_export import ArrowNode
from penstock.columns.column import (
    AnyColumn,
    Column,
    Comparison,
    arrow_node,
    as_column,
    describe,
    pad,
    padding_of,
    to_list,
)


class Ragged(Column):
    """A column whose row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    Args:
        values: The values of all rows: an array ``[total, *inner]`` or another column, which may be ragged in turn.
        offsets: Integers, one more than there are rows.

    Raises:
        ValueError: Offsets decrease, or lie outside the values.

    Example:
        >>> tokens = ps.Ragged(np.array([1, 2, 3]), [0, 2, 2, 3])
        >>> tokens
        Ragged(3 rows of int64[3])
        >>> tokens.to_list()
        [[1, 2], [], [3]]
    """

    def __init__(self, values: AnyColumn | ArrayLike, offsets: ArrayLike) -> None:
        self._values = as_column(values)
        self._offsets = _read_only_offsets(offsets, len(self._values))

    @classmethod
    def _unchecked(cls, values: AnyColumn, offsets: NDArray[np.int64]) -> Self:
        column = cls.__new__(cls)
        offsets.flags.writeable = False
        column._values = values
        column._offsets = offsets
        return column

    @classmethod
    def from_lengths(cls, values: AnyColumn | ArrayLike, lengths: ArrayLike) -> Self:
        """Build from the length of each row.

        Example:
            >>> ps.Ragged.from_lengths(np.array([1, 2, 3]), [2, 0, 1]).to_list()
            [[1, 2], [], [3]]
        """
        return cls(values, offsets_of(np.asarray(lengths, np.int64)))

    @property
    def values(self) -> AnyColumn:
        """The values of all rows: an array ``[total, *inner]`` or another column.

        A slice of a ragged column has all values of the whole; ``offsets[0]`` and ``offsets[-1]`` bound its own.

        Example:
            >>> ps.Ragged(np.array([1, 2, 3]), [0, 2, 2, 3]).values
            array([1, 2, 3])
        """
        return self._values

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where rows begin and end in ``values``: int64, one more than there are rows, read-only.

        Example:
            >>> ps.Ragged(np.array([1, 2, 3]), [0, 2, 2, 3]).offsets
            array([0, 2, 2, 3])
        """
        return self._offsets

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each row.

        Example:
            >>> ps.Ragged(np.array([1, 2, 3]), [0, 2, 2, 3]).lengths
            array([2, 0, 1])
        """
        return np.diff(self._offsets)

    @property
    def nbytes(self) -> int:
        """The number of bytes of memory that the column keeps alive.

        Example:
            >>> ps.Ragged(np.array([1, 2, 3]), [0, 2, 2, 3]).nbytes
            56
        """
        return self._values.nbytes + self._offsets.nbytes

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __repr__(self) -> str:
        return f"Ragged({len(self)} rows of {describe(self._values)})"

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.copy()
        return type(self), (own._values, own._offsets)

    def to_list(self) -> list[Any]:
        """Convert to Python objects: a list with a list for each row.

        Example:
            >>> ps.Ragged(np.array([1, 2, 3]), [0, 2, 2, 3]).to_list()
            [[1, 2], [], [3]]
        """
        begin, end = self._range()
        flat = to_list(self._values[begin:end])
        bounds = (self._offsets - begin).tolist()
        return [flat[start:stop] for start, stop in pairwise(bounds)]

    def to_padded(self, value: Any = None, length: int | Sequence[int | None] | None = None) -> NDArray[Any]:
        """Convert to an array ``[rows, length, ..., *inner]`` by padding every ragged level.

        Args:
            value: The value to pad with; by default zero, or an empty string.
            length: The length to pad rows to; longer rows are cut. None is the length of the longest row. One length
                is that of the outermost level; pass a sequence to set one for each level.

        Example:
            >>> ps.Ragged(np.array([1, 2, 3]), [0, 2, 2, 3]).to_padded(-1)
            array([[ 1,  2],
                   [-1, -1],
                   [ 3, -1]])
        """
        first, *rest = length if isinstance(length, Sequence) else (length,)
        if value is None:
            value = self._padding
        begin, end = self._range()
        flat = pad(self._values[begin:end], value, rest)
        lengths = self.lengths
        longest = int(lengths.max(initial=0))
        width = longest if first is None else first
        if width < longest:
            lengths = np.minimum(lengths, width)
            flat = flat[_ranges(self._offsets[:-1] - begin, lengths)]
        if (lengths == width).all():
            return flat.reshape(len(self), width, *flat.shape[1:]).copy()
        padded = np.full((len(self), width, *flat.shape[1:]), value, flat.dtype)
        padded[np.arange(width) < lengths[:, None]] = flat
        return padded

    def copy(self) -> Self:
        """Return a copy that shares no memory and holds only its own rows.

        Example:
            >>> ps.Ragged(np.array([1, 2, 3]), [0, 2, 2, 3])[2:].copy().values
            array([3])
        """
        begin, end = self._range()
        return self._unchecked(self._values[begin:end].copy(), self._offsets - begin)

    def isin(self, values: Iterable[Any]) -> NoReturn:
        """Raise TypeError: a row holds several values. Compare ``column.values`` instead.

        Example:
            >>> ps.Ragged(np.array([1, 2, 3]), [0, 2, 2, 3]).values == 2
            array([False,  True, False])
        """
        raise _not_comparable()

    def _compared(self, other: object, compare: Comparison) -> NoReturn:
        raise _not_comparable()

    def _arrow_node(self) -> ArrowNode:
        return ArrowNode("+L", len(self), (None, self._offsets), (arrow_node(self._values),))

    def _range(self) -> tuple[int, int]:
        return int(self._offsets[0]), int(self._offsets[-1])

    def _row(self, index: int) -> AnyColumn:
        return self._values[int(self._offsets[index]) : int(self._offsets[index + 1])]

    def _slice(self, start: int, stop: int) -> Self:
        return self._unchecked(self._values, self._offsets[start : stop + 1])

    def _take(self, positions: NDArray[np.int64]) -> Self:
        lengths = self.lengths[positions]
        return self._unchecked(self._values[_ranges(self._offsets[positions], lengths)], offsets_of(lengths))

    def _filled(self, rows: NDArray[np.bool_], value: Any) -> Self:
        if len(value):
            raise TypeError("absent rows of a ragged column can only be filled with []")
        lengths = np.where(rows, 0, self.lengths)
        return self._unchecked(self._values[_ranges(self._offsets[:-1], lengths)], offsets_of(lengths))

    def _padded(self, value: Any, lengths: Sequence[int | None]) -> NDArray[Any]:
        return self.to_padded(value, lengths or None)

    @property
    def _padding(self) -> Any:
        return padding_of(self._values)


def unchecked_ragged(values: AnyColumn, offsets: NDArray[np.int64]) -> Ragged:
    """Build from offsets that fit the values by construction: checking them would cost more than a slice."""
    return Ragged._unchecked(values, offsets)


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert the lengths of rows to offsets."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _not_comparable() -> TypeError:
    return TypeError(
        "a row of a Ragged holds several values: compare column.values (row i is offsets[i]:offsets[i + 1]), "
        "column.lengths, column.to_padded() or column.to_list()"
    )


def _read_only_offsets(offsets: ArrayLike, total: int) -> NDArray[np.int64]:
    array = np.asarray(offsets)
    if array.ndim != 1 or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"offsets must be integers, one more than there are rows, found {array.dtype}{array.shape}")
    array = np.require(array, np.int64, ["C", "A"]).view()
    if array[0] < 0 or array[-1] > total or (array[1:] < array[:-1]).any():
        raise ValueError(f"offsets must not decrease, and must lie between 0 and {total}, the number of values")
    array.flags.writeable = False
    return array


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenate ``arange(start, start + length)`` over all rows."""
    shifts = starts - offsets_of(lengths)[:-1]
    return np.repeat(shifts, lengths) + np.arange(lengths.sum())
