"""The values of many rows, on which a traced function runs. Treat them as immutable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock._core import RecordChunk
from penstock.codec.decoder import Records
from penstock.tf.tensors.convert import as_array, object_array
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.tensor import Tensor


class Stacked:
    """The values of all rows as one array: row ``i`` is ``array[i]``."""

    __slots__ = ("array",)

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def each(self) -> list[Any]:
        """Return the tensor of each row."""
        array = self.array
        return [Tensor(array[row, ...]) for row in range(len(array))]

    def row(self, row: int) -> Tensor:
        """Return the tensor of one row."""
        return Tensor(self.array[row, ...])

    def pick(self, rows: NDArray[np.intp]) -> Stacked:
        """Return some rows."""
        return Stacked(self.array[rows])


class RowValues:
    """The values of all rows as a list, for rows that cannot be stacked."""

    __slots__ = ("values",)

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def each(self) -> list[Any]:
        """Return the value of each row."""
        return self.values

    def row(self, row: int) -> Any:
        """Return the value of one row."""
        return self.values[row]

    def pick(self, rows: NDArray[np.intp]) -> Stacked | RowValues:
        """Return some rows, stacked if they have one shape."""
        return stack_rows([self.values[row] for row in rows.tolist()])


class RecordRows:
    """Serialized records in the form in which they were read."""

    __slots__ = ("records",)

    def __init__(self, records: Records) -> None:
        self.records = records

    def strings(self) -> Stacked:
        """Return them as strings."""
        parts: Any = [self.records] if isinstance(self.records, RecordChunk) else self.records
        flat = [record for part in parts for record in (part if isinstance(part, RecordChunk) else [part])]
        return Stacked(object_array(flat, (len(flat),)))

    def row(self, row: int) -> Tensor:
        """Return one of them as a string."""
        return Tensor(object_array([self.records[row]], ()))

    def pick(self, rows: NDArray[np.intp]) -> RecordRows:
        """Return some rows."""
        return RecordRows(self.strings().array[rows].tolist())


class EqualStrings:
    """Strings of one length as a matrix of bytes, which ``decode_raw`` reads without a copy."""

    __slots__ = ("raw",)

    def __init__(self, raw: NDArray[np.uint8]) -> None:
        self.raw = raw

    def strings(self) -> Stacked:
        """Return them as strings."""
        return Stacked(object_array([row.tobytes() for row in self.raw], (len(self.raw),)))

    def row(self, row: int) -> Tensor:
        """Return one of them."""
        return Tensor(object_array([self.raw[row].tobytes()], ()))

    def pick(self, rows: NDArray[np.intp]) -> EqualStrings:
        """Return some rows."""
        return EqualStrings(self.raw[rows])


BatchValue: TypeAlias = Stacked | RowValues | RecordRows | EqualStrings


def with_strings(value: Any) -> Any:
    """Convert stored strings to an array of strings; return anything else unchanged."""
    return value.strings() if isinstance(value, RecordRows | EqualStrings) else value


def stack_rows(values: list[Any]) -> Stacked | RowValues:
    """Stack tensors of one dtype and shape; return anything else as a list of rows."""
    arrays = [value._array for value in values if isinstance(value, Tensor)]
    if not arrays or len(arrays) < len(values):
        return RowValues(values)
    first = arrays[0]
    if any(array.shape != first.shape or array.dtype != first.dtype for array in arrays):
        return RowValues(values)
    # np.array is several times as fast as np.stack, but would look into objects.
    return Stacked(np.stack(arrays) if first.dtype.kind == "O" else np.array(arrays))


def broadcast_rows(value: Any, count: int) -> Stacked | RowValues:
    """Return a batch value unchanged, and repeat any other value ``count`` times."""
    value = with_strings(value)
    if isinstance(value, Stacked | RowValues):
        return value
    if value is None or isinstance(value, RaggedTensor | SparseTensor):
        return RowValues([value] * count)
    array = as_array(value)
    return Stacked(np.broadcast_to(array, (count, *array.shape)))


def concat_rows(parts: Sequence[BatchValue]) -> BatchValue:
    """Concatenate the values of several blocks of rows."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, Stacked):
        arrays = [part.array for part in parts if isinstance(part, Stacked)]
        if len(arrays) == len(parts) and len({(array.dtype, array.shape[1:]) for array in arrays}) == 1:
            return Stacked(np.concatenate(arrays))
    if isinstance(first, EqualStrings):
        raws = [part.raw for part in parts if isinstance(part, EqualStrings)]
        if len(raws) == len(parts) and len({raw.shape[1:] for raw in raws}) == 1:
            return EqualStrings(np.concatenate(raws))
    return RowValues([value for part in parts for value in with_strings(part).each()])


def merge_rows(parts: Sequence[tuple[NDArray[np.intp], Stacked | RowValues]], count: int) -> Stacked | RowValues:
    """Merge parts, each with its row numbers, to one value of ``count`` rows."""
    arrays = [part.array for _, part in parts if isinstance(part, Stacked)]
    kinds = {(array.dtype, array.shape[1:]) for array in arrays}
    if len(kinds) == 1 and len(arrays) == len(parts):
        joined = np.empty((count, *arrays[0].shape[1:]), arrays[0].dtype)
        for (rows, _), array in zip(parts, arrays, strict=True):
            joined[rows] = array
        return Stacked(joined)
    values: list[Any] = [None] * count
    for rows, part in parts:
        for row, value in zip(rows.tolist(), part.each(), strict=True):
            values[row] = value
    return RowValues(values)
