"""``tf.RaggedTensor``: rows of different lengths, as flat values and row splits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.registry import RaggedArgument
from penstock.tf.tensors.convert import as_array, as_tensor, new_shape, object_array
from penstock.tf.tensors.dtypes import DType, as_dtype, int64, of_numpy
from penstock.tf.tensors.shape import ShapeLike, TensorShape
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.tensor import Operators, Tensor, TensorMeta


class RaggedTensor(RaggedArgument, Operators, metaclass=TensorMeta):
    """Row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``; values may be ragged, too. Always validated."""

    __slots__ = ("_splits", "_uniform", "_values")

    def __init__(
        self, values: Tensor | RaggedTensor, row_splits: NDArray[Any], *, uniform_row_length: int | None = None
    ) -> None:
        total = values.nrows_count if isinstance(values, RaggedTensor) else len(values)
        if row_splits.ndim != 1 or not row_splits.size or row_splits[0] != 0:
            raise InvalidArgumentError("First value of ragged splits must be 0, and ragged splits may not be empty")
        if (np.diff(row_splits) < 0).any() or row_splits[-1] != total:
            raise InvalidArgumentError(
                f"Final value of ragged splits must match the number of values: they must rise from 0 to {total}"
            )
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
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if ragged_rank < 1:
            raise ValueError(f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}.")
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if isinstance(lengths, list | tuple) and lengths and not isinstance(lengths[0], int | float | np.number):
            nested: RaggedTensor = cls._from_nested_lengths(array, lengths, ragged_rank)
            return nested
        if array.ndim <= ragged_rank:
            raise ValueError(f"Shape {array.shape} must have rank at least {ragged_rank + 1}")
        outer, (count, width, *inner) = array.shape[: ragged_rank - 1], array.shape[ragged_rank - 1 :]
        count *= math.prod(outer)
        rows = array.reshape(count, width, *inner)
        if lengths is None and padding is None:
            flat = Tensor(rows.reshape(count * width, *inner))
            built = cls.from_uniform_row_length(flat, width, nrows=count)
        else:
            places = np.arange(1, width + 1)
            ends = np.zeros(0) if padding is not None else np.clip(_as_lengths(lengths), 0, width)
            if padding is not None:
                empty = as_array(padding, of_numpy(array.dtype))
                if empty.shape != tuple(inner):
                    raise ValueError(f"Shapes {empty.shape} and {tuple(inner)} are incompatible")
                filled = (rows != empty).reshape(count, width, math.prod(inner)).any(axis=2)
                ends = np.where(filled, places, 0).max(axis=1, initial=0)
            built = cls.from_row_lengths(Tensor(rows[places <= ends[:, None]]), ends.astype(np.int64))
        for level in range(len(outer) - 1, -1, -1):
            sizes = math.prod(outer[: level + 1])
            built = cls.from_uniform_row_length(built, array.shape[level + 1], nrows=sizes)
        return built

    @classmethod
    def _from_nested_lengths(cls, array: NDArray[Any], lengths: Any, ragged_rank: int) -> Any:
        if ragged_rank not in (1, len(lengths)):
            raise ValueError(
                "If Argument `lengths` is a tuple of row_lengths, argument `ragged_rank` must be len(lengths): "
                f"{len(lengths)}. Received ragged_rank: {ragged_rank}."
            )
        if array.ndim <= len(lengths):
            raise ValueError(f"Shape {array.shape} must have rank at least {len(lengths) + 1}")
        marks = np.ones(int(_as_lengths(lengths[-1]).sum()), np.bool_)
        sizes: Any = array.shape[: len(lengths) + 1]
        mask = cls.from_nested_row_lengths(marks, lengths).to_tensor(False, shape=sizes)
        return cls.from_nested_row_lengths(Tensor(array[mask._array]), lengths)

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Create several ragged dimensions from the lengths of their rows, the outermost first."""
        built: Any = as_tensor(flat_values)
        for lengths in reversed(list(nested_row_lengths)):
            built = cls.from_row_lengths(built, _as_lengths(lengths))
        return built

    @classmethod
    def from_sparse(cls, st_input: SparseTensor, name: str | None = None, row_splits_dtype: Any = int64) -> Any:
        """Create from a sparse matrix whose values fill the start of each row."""
        if len(st_input.shape) != 2:
            raise ValueError(f"rank(st_input) must be 2, found {len(st_input.shape)}")
        rows, columns = st_input.indices._array.T
        lengths = np.bincount(rows, minlength=int(st_input.dense_shape._array[0]))
        splits = np.concatenate([[0], np.cumsum(lengths)])
        if (np.diff(rows) < 0).any() or (columns != np.arange(splits[-1]) - np.repeat(splits[:-1], lengths)).any():
            raise InvalidArgumentError("SparseTensor is not right-ragged")
        return cls(st_input.values, splits.astype(as_dtype(row_splits_dtype).numpy))

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
        if isinstance(shape, Tensor):  # in which -1 is unknown
            shape = [None if size < 0 else size for size in shape._array.tolist()] if shape.ndim else None
        wanted: list[int | None] = [None] * len(self.shape) if shape is None else TensorShape(shape).as_list()
        return Tensor(_padded(self, default_value, wanted))

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """Return the smallest shape that holds all rows."""
        lengths = [int(one._array.max(initial=0)) for one in self.nested_row_lengths()]
        sizes = np.array([self.nrows_count, *lengths, *self.flat_values._array.shape[1:]])
        dtype = self._splits.dtype if out_type is None else as_dtype(out_type).numpy
        return Tensor((sizes if axis is None else sizes[np.asarray(axis)]).astype(dtype))

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Convert to a sparse tensor of the bounding shape."""
        indices = np.arange(self.nrows_count)[:, None]
        for splits in self.nested_row_splits:
            lengths = np.diff(splits._array)
            places = np.arange(splits._array[-1]) - np.repeat(splits._array[:-1], lengths)
            indices = np.column_stack([np.repeat(indices, lengths, axis=0), places])
        array = self.flat_values._array
        inner = np.array(list(np.ndindex(array.shape[1:])), np.int64).reshape(
            math.prod(array.shape[1:]), array.ndim - 1
        )
        each = np.column_stack([np.repeat(indices, len(inner), axis=0), np.tile(inner, (len(indices), 1))])
        return SparseTensor(each.astype(np.int64), Tensor(array.reshape(-1)), self.bounding_shape(out_type=int64))

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """Return the same rows with another dtype of row splits."""
        inner = self._values.with_row_splits_dtype(dtype) if isinstance(self._values, RaggedTensor) else self._values
        return RaggedTensor(inner, self._splits.astype(as_dtype(dtype).numpy), uniform_row_length=self._uniform)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Merge consecutive dimensions into one."""
        first, last = (axis % len(self.shape) for axis in (outer_axis, inner_axis))
        if first >= last:
            raise ValueError(f"expected outer_axis < inner_axis, found {outer_axis} and {inner_axis}")
        inner = self._values
        if first:
            if isinstance(inner, RaggedTensor):
                return self.with_values(inner.merge_dims(first - 1, last - 1))
            sizes = inner._array.shape
            merged = inner._array.reshape(*sizes[: first - 1], -1, *sizes[last:])
            return self.with_values(Tensor(merged))
        if last == 1:
            return inner
        if isinstance(inner, RaggedTensor):
            return inner.merge_dims(0, last - 1)
        return Tensor(inner._array.reshape(-1, *inner._array.shape[last:]))

    def __len__(self) -> int:
        return self.nrows_count

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(self.nrows_count))

    def __getitem__(self, index: Any) -> Any:
        first, *rest = index if isinstance(index, tuple) else (index,)
        if isinstance(first, slice):
            rows = np.arange(self.nrows_count)[first]
            selected = pick_rows(self, rows)
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


def _as_lengths(values: Any) -> NDArray[Any]:
    array = as_array(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"Argument `tensor` (name: lengths) must be of type integer. Received {array.dtype}.")
    return array.astype(np.int32 if array.dtype == np.int32 and isinstance(values, Tensor) else np.int64)


def _count(values: Tensor | RaggedTensor) -> int:
    return values.nrows_count if isinstance(values, RaggedTensor) else len(values)


def pick_rows(values: Any, rows: NDArray[Any]) -> Any:
    """Select rows by number: of a RaggedTensor, or slices of a tensor."""
    if not isinstance(values, RaggedTensor):
        return Tensor(values._array[rows])
    lengths = np.diff(values._splits)[rows]
    splits = np.concatenate([[0], np.cumsum(lengths)]).astype(values._splits.dtype)
    places = np.repeat(values._splits[rows] - splits[:-1], lengths) + np.arange(splits[-1])
    return RaggedTensor(pick_rows(values.values, places), splits, uniform_row_length=values._uniform)


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
