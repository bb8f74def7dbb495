"""Arrays that carry the bytes they were decoded from, so that unchanged values are written without re-encoding.

Only datasets that are being written hold them. Functions get plain arrays, and the arrays that they return are compared
by content with those they got.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.columns.arrow_export import ArrowNode
from penstock.columns.column import AnyColumn, Column, Comparison, arrow_node, fill, pad, padding_of, to_list
from penstock.columns.nullable import Nullable

Content: TypeAlias = tuple[str, tuple[int, ...], bytes]
"""The dtype, shape and a digest of the values of an array."""


class Stored:
    """One decoded value and the bytes that it was decoded from."""

    __slots__ = ("array", "content", "data", "feature", "name")

    def __init__(
        self, array: Any, data: bytes | tuple[bytes, ...] | None, name: str, feature: Any, content: Content
    ) -> None:
        self.array = array
        self.data = data
        """The stored bytes, of a sequence those of each step; None for a raw array or an absent feature's default."""
        self.name = name
        self.feature = feature
        """The feature that the bytes are stored as, and its name."""
        self.content = content
        """The content of the array when it was decoded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Stored, (self.array, self.data, self.name, self.feature, self.content)

    def with_array(self, array: Any) -> Stored:
        """Return the same stored bytes with another array of the same content."""
        return Stored(array, self.data, self.name, self.feature, self.content)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def nbytes(self) -> int:
        """The number of bytes of memory that the value keeps alive."""
        return int(self.array.nbytes) + _size(self.data)


class StoredColumn(Column):
    """A column, and for each row its :class:`Stored` value, or None if a function computed the row."""

    def __init__(self, values: AnyColumn, rows: Sequence[Stored | None]) -> None:
        self.values = values
        self.rows = list(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        # The arrays of the rows are views of the column and would be pickled twice.
        rows = [None if row is None else row.with_array(None) for row in self.rows]
        return StoredColumn, (self.values, rows)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes) + sum(_size(row.data) for row in self.rows if row is not None)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"StoredColumn({self.values!r})"

    def to_list(self) -> list[Any]:
        return to_list(self.values)

    def copy(self) -> Self:
        return type(self)(self.values.copy(), self.rows)

    def _row(self, index: int) -> Any:
        row = self.rows[index]
        # Take the row from the column, which a function may have changed in place.
        array = self.values[index]
        return array if row is None else row.with_array(array)

    def _compared(self, other: object, compare: Comparison) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = compare(self.values, other)
        return result

    def isin(self, values: Iterable[Any]) -> NDArray[np.bool_]:
        return self.values.isin(values) if isinstance(self.values, Column) else np.isin(self.values, list(values))

    def _slice(self, start: int, stop: int) -> Self:
        return type(self)(self.values[start:stop], self.rows[start:stop])

    def _take(self, positions: NDArray[np.int64]) -> Self:
        return type(self)(self.values[positions], [self.rows[position] for position in positions.tolist()])

    def _arrow_node(self) -> ArrowNode:
        return arrow_node(self.values)

    def _filled(self, rows: NDArray[np.bool_], value: Any) -> Self:
        unfilled = [None if filled else row for row, filled in zip(self.rows, rows.tolist(), strict=True)]
        return type(self)(fill(self.values, rows, value), unfilled)

    def _padded(self, value: Any, lengths: Sequence[int | None]) -> NDArray[Any]:
        return pad(self.values, value, lengths)

    @property
    def _padding(self) -> Any:
        return padding_of(self.values)


def _size(data: bytes | tuple[bytes, ...] | None) -> int:
    return sum(map(len, data)) if isinstance(data, tuple) else len(data or b"")


def content_of(array: NDArray[Any] | np.generic) -> Content:
    """Return a key that identifies the content of an array."""
    digest = hashlib.blake2b(digest_size=16)
    if array.dtype == object:
        for item in np.ravel(array):
            digest.update(repr(content_of(item) if isinstance(item, np.ndarray) else item).encode())
    else:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return array.dtype.str, array.shape, digest.digest()


def plain(column: Any) -> Any:
    """Return a column without stored bytes."""
    if isinstance(column, StoredColumn):
        return column.values
    if isinstance(column, Nullable) and isinstance(column.values, StoredColumn):
        return Nullable(column.values.values, column.valid)
    return column
