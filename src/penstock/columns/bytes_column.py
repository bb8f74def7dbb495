"""Byte strings and text as views into the buffers they were read into, in Arrow's BinaryView layout."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.columns.arrow_export import ArrowNode, fixed_size_lists
from penstock.columns.column import Column, Comparison, check_same_length, column_or_none, isin_values

INLINE_BYTES = 12
"""Strings of at most this many bytes are stored inside their view."""

_MAX_BUFFER_BYTES = 2**31 - 1  # offsets in a view are int32
_VIEW_ALIGNMENT = 16  # some Arrow consumers read a view as one 128-bit number


class BytesColumn(Column):
    """A column of bytes, or of str if ``text`` is True.

    Views are checked whenever their values are read or exported: a view outside the buffers raises ValueError, text
    that is not UTF-8 raises UnicodeDecodeError. Comparisons compare bytes, which orders text by code point; bytes that
    are not UTF-8 are equal to no str.

    Args:
        views: An int32 array ``[n, 4]``: the length, then the string itself if it has at most 12 bytes, else its first
            four bytes, the number of a buffer and an offset in it.
        buffers: Contiguous uint8 arrays; the column keeps them alive.
        text: Whether values are str.
        shape: The shape of a row, so that there are ``n / prod(shape)`` rows.
        rows: The number of rows; only needed if a dimension of ``shape`` is 0.

    Example:
        >>> names = ps.BytesColumn.from_values(["ann", "bob"], text=True)
        >>> names
        BytesColumn(2 rows of str)
        >>> names == "bob"
        array([False,  True])
    """

    def __init__(
        self,
        views: NDArray[np.int32],
        buffers: Sequence[NDArray[np.uint8]],
        *,
        text: bool = False,
        shape: Sequence[int] = (),
        rows: int | None = None,
    ) -> None:
        if views.ndim != 2 or views.shape[1] != 4 or views.dtype != np.int32:
            raise TypeError(f"views must be an int32 array [n, 4], found {views.dtype}{list(views.shape)}")
        for buffer in buffers:
            if buffer.dtype != np.uint8 or buffer.ndim != 1 or not buffer.flags.c_contiguous:
                raise TypeError("buffers must be contiguous uint8 arrays of one dimension")
        self._shape = tuple(shape)
        per_row = math.prod(self._shape)
        self._rows = rows if rows is not None else len(views) // per_row if per_row else 0
        if self._rows * per_row != len(views) or self._rows < 0:
            raise ValueError(f"{len(views)} values do not make rows of shape {self._shape}")
        self._views = np.ascontiguousarray(views)
        self._buffers = tuple(buffers)
        self._text = text

    @classmethod
    def from_offsets(cls, offsets: NDArray[Any], data: NDArray[np.uint8], *, text: bool = False) -> Self:
        """Build from concatenated strings: row ``i`` is ``data[offsets[i]:offsets[i + 1]]``.

        Args:
            offsets: Integers, one more than there are rows.
            data: The bytes of all strings, as uint8; they are shared, not copied.
            text: Whether values are str.

        Example:
            >>> data = np.frombuffer(b"annbob", np.uint8)
            >>> ps.BytesColumn.from_offsets(np.array([0, 3, 6]), data).to_list()
            [b'ann', b'bob']
        """
        views, windows = _core.offsets_to_views(offsets, data)
        return cls(views, [data[start : start + _MAX_BUFFER_BYTES] for start in windows], text=text)

    @classmethod
    def from_values(cls, values: Sequence[str] | Sequence[bytes], *, text: bool) -> Self:
        """Build from Python objects: str if ``text`` is True, else bytes.

        Raises:
            TypeError: A value has another type.

        Example:
            >>> ps.BytesColumn.from_values([b"ann", b"bob"], text=False)[1]
            b'bob'
        """
        kind = str if text else bytes
        for value in values:
            if not isinstance(value, kind):
                raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
        encoded = [value.encode() if isinstance(value, str) else value for value in values]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(value) for value in encoded], out=offsets[1:])
        return cls.from_offsets(offsets, np.frombuffer(b"".join(encoded), np.uint8), text=text)

    @classmethod
    def _unchecked(
        cls,
        views: NDArray[np.int32],
        buffers: Sequence[NDArray[np.uint8]],
        text: bool,
        shape: tuple[int, ...],
        rows: int,
    ) -> Self:
        column = cls.__new__(cls)
        column._shape = shape
        column._rows = rows
        column._views = views
        column._buffers = tuple(buffers)
        column._text = text
        return column

    @property
    def views(self) -> NDArray[np.int32]:
        """The views, an int32 array ``[n, 4]``.

        Example:
            >>> ps.BytesColumn.from_values([b"ann", b"robert"], text=False).views[:, 0]  # the lengths
            array([3, 6], dtype=int32)
        """
        return self._views

    @property
    def buffers(self) -> tuple[NDArray[np.uint8], ...]:
        """The buffers that hold strings of more than 12 bytes.

        Example:
            >>> [buffer.size for buffer in ps.BytesColumn.from_values([b"x" * 20], text=False).buffers]
            [20]
        """
        return self._buffers

    @property
    def text(self) -> bool:
        """Whether values are str, not bytes.

        Example:
            >>> ps.BytesColumn.from_values(["ann"], text=True).text
            True
        """
        return self._text

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row: ``()`` for one string per row.

        Example:
            >>> ps.BytesColumn.from_values(["ann", "bob"], text=True).shape
            ()
        """
        return self._shape

    @property
    def nbytes(self) -> int:
        """The number of bytes of memory that the column keeps alive: its views and buffers.

        Example:
            >>> ps.BytesColumn.from_values([b"x" * 20], text=False).nbytes
            36
        """
        return self._views.nbytes + sum(buffer.nbytes for buffer in self._buffers)

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    def __repr__(self) -> str:
        shape = f" of shape {self._shape}" if self._shape else ""
        return f"BytesColumn({self._rows} rows of {self._kind}{shape})"

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.compact()
        return _rebuild, (own._views, own._buffers, own._text, own._shape, own._rows)

    def to_list(self) -> list[Any]:
        """Convert to a list of bytes or str; rows that have a shape are nested lists.

        Example:
            >>> ps.BytesColumn.from_values(["ann", "bob"], text=True).to_list()
            ['ann', 'bob']
        """
        flat = _core.views_to_list(self._views, self._buffers, self._text)
        return _nested(flat, (self._rows, *self._shape))

    def to_numpy(self) -> NDArray[np.object_]:
        """Convert to an array ``[rows, *shape]`` of Python objects.

        Example:
            >>> ps.BytesColumn.from_values(["ann", "bob"], text=True).to_numpy()
            array(['ann', 'bob'], dtype=object)
        """
        array = np.empty(len(self._views), object)
        array[:] = _core.views_to_list(self._views, self._buffers, self._text)
        return array.reshape(self._rows, *self._shape)

    def compact(self) -> Self:
        """Copy the values of the rows into a new buffer (one for every 2 GiB) and drop all others.

        Example:
            >>> column = ps.BytesColumn.from_values([b"x" * 20, b"y" * 20], text=False)
            >>> [buffer.size for buffer in column[:1].compact().buffers]
            [20]
        """
        views, buffers = _core.compact_views(self._views, self._buffers)
        return self._with(views, buffers)

    def copy(self) -> Self:
        """Return a copy that shares no memory and holds only its own rows; the same as :meth:`compact`.

        Example:
            >>> ps.BytesColumn.from_values(["ann"], text=True).copy().to_list()
            ['ann']
        """
        return self.compact()

    def isin(self, values: Iterable[str] | Iterable[bytes] | BytesColumn) -> NDArray[np.bool_]:
        """Return a boolean array: which values are equal to one of ``values``.

        Example:
            >>> ps.BytesColumn.from_values(["ann", "bob", "cid"], text=True).isin(["ann", "cid"])
            array([ True, False,  True])
        """
        wanted = values if isinstance(values, BytesColumn) else self._from_strings(isin_values(values))
        self._check_kind(wanted)
        found = _core.find_views(self._views, self._buffers, wanted._views, wanted._buffers)
        return found.reshape(self._rows, *self._shape)

    def _compared(self, other: object, compare: Comparison) -> NDArray[np.bool_]:
        if isinstance(other, Column) and not isinstance(other, BytesColumn):
            return NotImplemented  # type: ignore[no-any-return]  # a Nullable knows which of its rows are valid
        if isinstance(other, (str, bytes)):
            others = self._from_strings([other])
        else:
            others = other if isinstance(other, BytesColumn) else self._from_rows(other)
            self._check_kind(others)
            check_same_length(self._rows, others._rows)
            if self._shape != others._shape:
                raise ValueError(f"rows of shape {self._shape} cannot be compared with rows of shape {others._shape}")
        order = _core.compare_views(self._views, self._buffers, others._views, others._buffers)
        found: NDArray[np.bool_] = compare(order, 0)
        return found.reshape(self._rows, *self._shape)

    def _from_rows(self, values: object) -> BytesColumn:
        """Convert an array or a list to a column."""
        # As objects: NumPy's string dtypes drop trailing zero bytes.
        array = column_or_none(values, object)
        if not isinstance(array, np.ndarray):
            raise TypeError(
                f"a column of {self._kind} can only be compared with {self._kind}, not with {type(values).__name__}"
            )
        column = self._from_strings(array.reshape(-1).tolist())
        return unchecked_bytes(column.views, column.buffers, self._text, array.shape[1:], len(array))

    def _from_strings(self, values: list[Any]) -> BytesColumn:
        try:
            return BytesColumn.from_values(values, text=self._text)
        except TypeError as error:
            raise TypeError(
                f"a column of {self._kind} can only be compared with {self._kind}: {error}; {self._conversion_hint}"
            ) from None

    def _check_kind(self, other: BytesColumn) -> None:
        if self._text != other._text:
            raise TypeError(
                f"a column of {self._kind} cannot be compared with one of {other._kind}; {self._conversion_hint}"
            )

    @property
    def _kind(self) -> str:
        return "str" if self._text else "bytes"

    @property
    def _conversion_hint(self) -> str:
        return "decode() bytes to str" if self._text else "encode() str to bytes, or read the feature as str"

    def _arrow_node(self) -> ArrowNode:
        _core.check_views(self._views, self._buffers, self._text)
        views = self._views
        if views.ctypes.data % _VIEW_ALIGNMENT:
            views = views.copy()
        sizes = np.array([buffer.size for buffer in self._buffers], np.int64)
        values = ArrowNode("vu" if self._text else "vz", len(views), (None, views, *self._buffers, sizes))
        return fixed_size_lists(values, self._rows, self._shape)

    def _row(self, index: int) -> Any:
        per_row = math.prod(self._shape)
        views = self._views[index * per_row : (index + 1) * per_row]
        return _nested(_core.views_to_list(views, self._buffers, self._text), (1, *self._shape))[0]

    def _slice(self, start: int, stop: int) -> Self:
        per_row = math.prod(self._shape)
        return self._with(self._views[start * per_row : stop * per_row], self._buffers, stop - start)

    def _take(self, positions: NDArray[np.int64]) -> Self:
        views = self._views.reshape(self._rows, math.prod(self._shape), 4)[positions].reshape(-1, 4)
        return self._with(views, self._buffers, len(positions))

    def _filled(self, rows: NDArray[np.bool_], value: Any) -> Self:
        if not isinstance(value, str if self._text else bytes):
            raise TypeError(f"expected {self._kind}, found {type(value).__name__}")
        data = np.frombuffer(value.encode() if isinstance(value, str) else value, np.uint8)
        filling, _ = _core.offsets_to_views(np.array([0, len(data)]), data)
        if len(data) > INLINE_BYTES:
            filling[0, 2] = len(self._buffers)
        marked = np.repeat(rows, math.prod(self._shape))
        return self._with(np.where(marked[:, None], filling, self._views), (*self._buffers, data))

    def _padded(self, value: Any, lengths: Sequence[int | None]) -> NDArray[Any]:
        return self.to_numpy()

    @property
    def _padding(self) -> str | bytes:
        return "" if self._text else b""

    def _with(self, views: NDArray[np.int32], buffers: tuple[NDArray[np.uint8], ...], rows: int | None = None) -> Self:
        rows = self._rows if rows is None else rows
        return self._unchecked(views, buffers, self._text, self._shape, rows)


def unchecked_bytes(
    views: NDArray[np.int32], buffers: Sequence[NDArray[np.uint8]], text: bool, shape: tuple[int, ...], rows: int
) -> BytesColumn:
    """Build from arrays that are known to have the right dtypes and shapes."""
    return BytesColumn._unchecked(views, buffers, text, shape, rows)


def _rebuild(
    views: NDArray[np.int32], buffers: tuple[NDArray[np.uint8], ...], text: bool, shape: tuple[int, ...], rows: int
) -> BytesColumn:
    return BytesColumn(views, buffers, text=text, shape=shape, rows=rows)


def _nested(flat: list[Any], shape: tuple[int, ...]) -> list[Any]:
    if len(shape) == 1:
        return flat
    step = math.prod(shape[1:])
    return [_nested(flat[row * step : (row + 1) * step], shape[1:]) for row in range(shape[0])]
