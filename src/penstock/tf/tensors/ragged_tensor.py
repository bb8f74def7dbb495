"""``tf.RaggedTensor``: rows of different lengths, as flat values and row splits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.tensors.convert import as_array, as_tensor, new_shape, object_array
from penstock.tf.tensors.dtypes import DType, as_dtype, int64, of_numpy
from penstock.tf.tensors.shape import ShapeLike, TensorShape
from penstock.tf.tensors.tensor import Tensor, TensorMeta


class RaggedTensor(metaclass=TensorMeta):
    """Row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``; values may be ragged, too. Always validated."""

    __slots__ = ("_splits", "_uniform", "_values")

    def __init__(
        self, values: Tensor | RaggedTensor, row_splits: NDArray[Any], *, uniform_row_length: int | None = None
    ) -> None:
        total = values.nrows_count if isinstance(values, RaggedTensor) else len(values)
        if row_splits.ndim != 1 or not row_splits.size or row_splits[0] != 0:
            raise InvalidArgumentError("row splits must be a vector that begins with 0")
        if (np.diff(row_splits) < 0).any() or row_splits[-1] != total:
            raise InvalidArgumentError(f"row splits must rise from 0 to {total}, the number of values")
        self._values = values
        self._splits = row_splits
        self._uniform = uniform_row_length

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Create from row splits: the start of each row, and the end of the last."""
        return cls(_values_of(values), _as_splits(row_splits))

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Create from the length of each row."""
        lengths = _as_splits(row_lengths)
        if (lengths < 0).any():
            raise InvalidArgumentError("row lengths must not be negative")
        return cls(_values_of(values), np.concatenate([[0], np.cumsum(lengths)]).astype(lengths.dtype))

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Create from the start of each row."""
        inner, starts = _values_of(values), _as_splits(row_starts)
        return cls(inner, np.append(starts, starts.dtype.type(_count(inner))))

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Create from the end of each row."""
        limits = _as_splits(row_limits)
        return cls(_values_of(values), np.concatenate([np.zeros(1, limits.dtype), limits]))

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Create from the row of each value."""
        ids = _as_splits(value_rowids)
        if (np.diff(ids) < 0).any() or (ids < 0).any():
            raise InvalidArgumentError("row ids must be sorted and not negative")
        rows = int(ids[-1]) + 1 if nrows is None and ids.size else int(nrows or 0)
        if ids.size and int(ids[-1]) >= rows:
            raise InvalidArgumentError(f"row id {int(ids[-1])} is out of range for {rows} rows")
        return cls.from_row_lengths(values, np.bincount(ids, minlength=rows).astype(ids.dtype))

    @classmethod
    def from_uniform_row_length(
        cls, values: Any, uniform_row_length: Any, nrows: Any = None, validate: bool = True, name: str | None = None
    ) -> RaggedTensor:
        """Create rows of one length."""
        inner, length = _values_of(values), int(uniform_row_length)
        count = _count(inner)
        rows = int(nrows) if nrows is not None else count // length if length else 0
        splits = np.arange(rows + 1, dtype=np.int64) * length
        return cls(inner, splits, uniform_row_length=length)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Create several ragged dimensions, the outermost first."""
        built: Any = as_tensor(flat_values)
        for splits in reversed(list(nested_row_splits)):
            built = cls.from_row_splits(built, splits)
        return built

    @classmethod
    def from_tensor(
        cls, tensor: Any, lengths: Any = None, padding: Any = None, ragged_rank: int = 1, name: str | None = None
    ) -> RaggedTensor:
        """Create from a dense tensor, dropping values after ``lengths`` or trailing ``padding``."""
        array = as_array(tensor)
        if ragged_rank != 1 or array.ndim < 2:
            raise NotImplementedError("RaggedTensor.from_tensor supports one ragged dimension only, the second one")
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        count, width = array.shape[:2]
        if lengths is None and padding is None:
            return cls.from_uniform_row_length(array.reshape(-1, *array.shape[2:]), width, nrows=count)
        places = np.arange(1, width + 1)
        if padding is not None:
            same = array == as_array(padding, of_numpy(array.dtype))
            filled = ~same.reshape(count, width, -1).all(axis=2)
            ends = np.where(filled, places, 0).max(axis=1, initial=0)
        else:
            ends = _as_splits(lengths)
        return cls.from_row_lengths(Tensor(array[places <= ends[:, None]]), ends.astype(np.int64))

    @property
    def values(self) -> Tensor | RaggedTensor:
        """The values of all rows."""
        return self._values

    @property
    def flat_values(self) -> Tensor:
        """The values of the innermost ragged dimension."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self) -> Tensor:
        """The start of each row, and the end of the last."""
        return Tensor(self._splits)

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all ragged dimensions, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows, if it is known to be uniform."""
        return None if self._uniform is None else Tensor(np.array(self._uniform, self._splits.dtype))

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape; None for each ragged dimension."""
        return TensorShape([self.nrows_count, self._uniform]).concatenate(self._values.shape[1:])

    @property
    def nrows_count(self) -> int:
        """The number of rows, as a Python integer."""
        return len(self._splits) - 1

    def get_shape(self) -> TensorShape:
        """Return the shape; None for each ragged dimension."""
        return self.shape

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """Return the number of rows."""
        return Tensor(np.array(self.nrows_count, self._splits.dtype if out_type is None else as_dtype(out_type).numpy))

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the length of each row; with another axis, the sizes of that dimension."""
        rank = len(self.shape)
        if not -rank <= axis < rank:
            raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
        place = axis % rank
        if place == 0:
            return self.nrows()
        if place == 1:
            return Tensor(np.diff(self._splits))
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(place - 1))
        sizes = self._values._array.shape
        return self.with_values(Tensor(np.full(sizes[: place - 1], sizes[place - 1], self._splits.dtype)))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Return the lengths of the rows of each ragged dimension."""
        inner = self._values.nested_row_lengths() if isinstance(self._values, RaggedTensor) else ()
        return (self.row_lengths(), *inner)

    def row_starts(self, name: str | None = None) -> Tensor:
        """Return the start of each row."""
        return Tensor(self._splits[:-1])

    def row_limits(self, name: str | None = None) -> Tensor:
        """Return the end of each row."""
        return Tensor(self._splits[1:])

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Return the row of each value."""
        return Tensor(np.repeat(np.arange(self.nrows_count, dtype=self._splits.dtype), np.diff(self._splits)))

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Return a RaggedTensor with the same rows and other values."""
        return RaggedTensor(_values_of(new_values), self._splits, uniform_row_length=self._uniform)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Return a RaggedTensor with the same rows in all dimensions and other innermost values."""
        inner = self._values
        return self.with_values(inner.with_flat_values(new_values) if isinstance(inner, RaggedTensor) else new_values)

    def to_list(self) -> list[Any]:
        """Convert to Python lists."""
        flat = self._values.to_list() if isinstance(self._values, RaggedTensor) else self._values.numpy().tolist()
        bounds = self._splits.tolist()
        return [flat[start:stop] for start, stop in pairwise(bounds)]

    def numpy(self) -> NDArray[Any]:
        """Convert to an object array of rows; to one array where all rows have one shape."""
        rows = [row.numpy() for row in self]
        if rows and len({row.shape for row in rows}) == 1:
            return np.stack(rows)
        return object_array(rows, (len(rows),))

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: ShapeLike = None) -> Tensor:
        """Pad all rows to a dense tensor."""
        wanted: list[int | None] = [None] * len(self.shape) if shape is None else TensorShape(shape).as_list()
        return Tensor(_padded(self, default_value, wanted))

    def __len__(self) -> int:
        return self.nrows_count

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(self.nrows_count))

    def __getitem__(self, index: Any) -> Any:
        first, *rest = index if isinstance(index, tuple) else (index,)
        if isinstance(first, slice):
            rows = np.arange(self.nrows_count)[first]
            lengths = np.diff(self._splits)[rows]
            shifts = np.repeat(self._splits[rows] - np.cumsum(lengths) + lengths, lengths)
            selected = RaggedTensor.from_row_lengths(_take(self._values, shifts + np.arange(lengths.sum())), lengths)
            if not rest:
                return selected
            parts = [row[tuple(rest)] for row in selected]
            return _stack_rows(parts, self)
        place = int(first)
        if not -self.nrows_count <= place < self.nrows_count:
            raise InvalidArgumentError(f"row {place} is out of range for {self.nrows_count} rows")
        place %= self.nrows_count
        row = self._values[int(self._splits[place]) : int(self._splits[place + 1])]
        return row[tuple(rest)] if rest else row

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor {self.to_list()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._values, self._splits, self._uniform)


def _rebuild(values: Tensor | RaggedTensor, row_splits: NDArray[Any], uniform: int | None) -> RaggedTensor:
    return RaggedTensor(values, row_splits, uniform_row_length=uniform)


def _values_of(values: Any) -> Tensor | RaggedTensor:
    return values if isinstance(values, RaggedTensor) else as_tensor(values)


def _as_splits(values: Any) -> NDArray[Any]:
    array = as_array(values)
    return (
        array
        if of_numpy(array.dtype).name in ("int32", "int64") and isinstance(values, Tensor)
        else as_array(np.asarray(array), int64)
    )


def _count(values: Tensor | RaggedTensor) -> int:
    return values.nrows_count if isinstance(values, RaggedTensor) else len(values)


def _take(values: Tensor | RaggedTensor, places: NDArray[Any]) -> Any:
    if isinstance(values, Tensor):
        return Tensor(values._array[places])
    rows = [values[int(place)] for place in places]
    return _stack_rows(rows, values)


def _stack_rows(rows: list[Any], like: RaggedTensor) -> Any:
    """Stack rows: scalars to a tensor, anything else to a RaggedTensor."""
    if rows and isinstance(rows[0], Tensor) and not rows[0].ndim:
        return Tensor(np.stack([row._array for row in rows]))
    lengths = np.array([len(row) for row in rows], like._splits.dtype)
    if rows and isinstance(rows[0], RaggedTensor):
        inner = [part for row in rows for part in row]
        return RaggedTensor.from_row_lengths(_stack_rows(inner, rows[0]), Tensor(lengths))
    flat = np.concatenate([row._array for row in rows]) if rows else like.flat_values._array[:0]
    return RaggedTensor.from_row_lengths(Tensor(flat), Tensor(lengths))


def _padded(ragged: RaggedTensor, default: Any, shape: list[int | None]) -> NDArray[Any]:
    rows_wanted, width_wanted, *inner_shape = shape
    values = ragged.values
    inner = _padded(values, default, [None, *inner_shape]) if isinstance(values, RaggedTensor) else values._array
    zero: Any = b"" if inner.dtype == object else 0
    filling = as_array(zero if default is None else default, of_numpy(inner.dtype))
    lengths = np.diff(ragged._splits)
    width = int(lengths.max(initial=0)) if width_wanted is None else width_wanted
    rows = ragged.nrows_count if rows_wanted is None else rows_wanted
    padded = np.empty(new_shape((rows, width, *inner.shape[1:]), inner.dtype), inner.dtype)
    padded[...] = filling
    for row, start in enumerate(ragged._splits[:-1][:rows].tolist()):
        length = min(int(lengths[row]), width)
        padded[row, :length] = inner[start : start + length]
    return padded
