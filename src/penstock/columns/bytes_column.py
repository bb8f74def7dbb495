"""Byte strings and text as views into the buffers they were read to, in Arrow's BinaryView layout."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.columns.arrow_export import ArrowNode, fixed_size_lists
from penstock.columns.column import Column, Comparison, check_length, rows_of, several

INLINE_BYTES = 12
"""Strings of up to so many bytes lie in their view."""

_MOST_IN_BUFFER = 2**31 - 1  # offsets in a view are int32
_VIEW_ALIGNMENT = 16  # some consumers read a view as one 128-bit number


class BytesColumn(Column):
    """A column of bytes, or of str where ``text``.

    ``views`` is an int32 array ``[n, 4]``: length, then 12 bytes of the string itself or, of a longer one, the first
    four bytes, the number of a buffer and an offset in it. ``buffers`` are uint8 arrays; they live as long as a column
    that looks into them. ``shape`` is the shape of a row, so that there are ``n / prod(shape)`` rows (``rows`` says how
    many where a dimension is 0).

    What a view says is checked whenever it is followed or handed out: a view outside the buffers raises ValueError,
    text that is not UTF-8 UnicodeDecodeError. Comparisons look at the bytes: text compares as its characters do, and
    what is not UTF-8 is equal to no str.
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
            raise TypeError(f"views must be an int32 array [n, 4]; found {views.dtype}{list(views.shape)}")
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
        """Build from strings that lie one behind another: row ``i`` is ``data[offsets[i]:offsets[i + 1]]``."""
        views, windows = _core.offsets_to_views(offsets, data)
        return cls(views, [data[start : start + _MOST_IN_BUFFER] for start in windows], text=text)

    @classmethod
    def from_values(cls, values: Sequence[Any], *, text: bool) -> Self:
        """Build from str where ``text``, else from bytes; raise TypeError where there is anything else."""
        kind = str if text else bytes
        for value in values:
            if not isinstance(value, kind):
                raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
        encoded = [value.encode() for value in values] if text else values
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(value) for value in encoded], out=offsets[1:])
        return cls.from_offsets(offsets, np.frombuffer(b"".join(encoded), np.uint8), text=text)

    @classmethod
    def _of_sound_views(
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
        """The views, int32 ``[n, 4]``."""
        return self._views

    @property
    def buffers(self) -> tuple[NDArray[np.uint8], ...]:
        """The buffers that views of more than 12 bytes point into."""
        return self._buffers

    @property
    def text(self) -> bool:
        """Whether values are str."""
        return self._text

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return self._shape

    @property
    def nbytes(self) -> int:
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
        flat = _core.views_to_list(self._views, self._buffers, self._text)
        return _nested(flat, (self._rows, *self._shape))

    def to_numpy(self) -> NDArray[np.object_]:
        """Convert to an array of Python objects ``[rows, *shape]``."""
        array = np.empty(len(self._views), object)
        array[:] = _core.views_to_list(self._views, self._buffers, self._text)
        return array.reshape(self._rows, *self._shape)

    def compact(self) -> Self:
        """Copy the values, and nothing else, to one buffer of their own (to another behind each 2 GiB)."""
        views, buffers = _core.compact_views(self._views, self._buffers)
        return self._with(views, buffers)

    def copy(self) -> Self:
        return self.compact()

    def isin(self, values: Iterable[Any]) -> NDArray[np.bool_]:
        wanted = values if isinstance(values, BytesColumn) else self._of_strings(list(several(values)))
        self._check_kind(wanted)
        found = _core.find_views(self._views, self._buffers, wanted._views, wanted._buffers)
        return found.reshape(self._rows, *self._shape)

    def _compared(self, other: object, compare: Comparison) -> NDArray[np.bool_]:
        if isinstance(other, Column) and not isinstance(other, BytesColumn):
            return NotImplemented  # type: ignore[no-any-return]  # a Nullable knows which of its rows are there
        if isinstance(other, (str, bytes)):
            others = self._of_strings([other])
        else:
            others = other if isinstance(other, BytesColumn) else self._of_rows(other)
            self._check_kind(others)
            check_length(self._rows, others._rows)
            if self._shape != others._shape:
                raise ValueError(f"rows of shape {self._shape} cannot be compared with rows of shape {others._shape}")
        order = _core.compare_views(self._views, self._buffers, others._views, others._buffers)
        found: NDArray[np.bool_] = compare(order, 0)
        return found.reshape(self._rows, *self._shape)

    def _of_rows(self, values: object) -> BytesColumn:
        """Make a column of what an array or a list holds."""
        # As objects: NumPy's own strings would lose zero bytes at their end.
        array = rows_of(values, object)
        if not isinstance(array, np.ndarray):
            raise TypeError(f"a column of {self._kind} is compared with {self._kind}, not with {type(values).__name__}")
        column = self._of_strings(array.reshape(-1).tolist())
        return bytes_of_sound_views(column.views, column.buffers, self._text, array.shape[1:], len(array))

    def _of_strings(self, values: list[Any]) -> BytesColumn:
        try:
            return BytesColumn.from_values(values, text=self._text)
        except TypeError as error:
            raise TypeError(
                f"a column of {self._kind} is compared with {self._kind}: {error}; {self._way_out}"
            ) from None

    def _check_kind(self, other: BytesColumn) -> None:
        if self._text != other._text:
            raise TypeError(f"a column of {self._kind} cannot be compared with one of {other._kind}; {self._way_out}")

    @property
    def _kind(self) -> str:
        return "str" if self._text else "bytes"

    @property
    def _way_out(self) -> str:
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
        # Parts of a column that was checked when it was made.
        rows = self._rows if rows is None else rows
        return self._of_sound_views(views, buffers, self._text, self._shape, rows)


def bytes_of_sound_views(
    views: NDArray[np.int32], buffers: Sequence[NDArray[np.uint8]], text: bool, shape: tuple[int, ...], rows: int
) -> BytesColumn:
    """Build from views and buffers that are known to be arrays as they should be."""
    return BytesColumn._of_sound_views(views, buffers, text, shape, rows)


def _rebuild(
    views: NDArray[np.int32], buffers: tuple[NDArray[np.uint8], ...], text: bool, shape: tuple[int, ...], rows: int
) -> BytesColumn:
    return BytesColumn(views, buffers, text=text, shape=shape, rows=rows)


def _nested(flat: list[Any], shape: tuple[int, ...]) -> list[Any]:
    if len(shape) == 1:
        return flat
    step = math.prod(shape[1:])
    return [_nested(flat[row * step : (row + 1) * step], shape[1:]) for row in range(shape[0])]
