"""Convert Arrow data (tables, data frames, readers) to columns. Memory is shared where the layouts agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.columns.batch import Batch
from penstock.columns.bytes_column import BytesColumn
from penstock.columns.column import AnyColumn
from penstock.columns.nullable import Nullable
from penstock.columns.ragged import Ragged
from penstock.errors import import_extra
from penstock.schema.arrow_types import storable_columns


def from_arrow(data: Any) -> Batch:
    """Convert a table to one batch, whatever the number of its chunks. Columns with nulls become ``Nullable``.

    Args:
        data: Any object with ``__arrow_c_stream__`` or ``__arrow_c_array__``.
    """
    pa = _pyarrow()
    table = pa.table(data)
    return _batch(table)


def batches_from_arrow(data: Any) -> Iterator[Batch]:
    """Convert a table or a stream chunk by chunk, so that it does not have to fit into memory."""
    pa = _pyarrow()
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
    else:
        reader = pa.table(data).to_reader()
    return map(_batch, reader)


def _pyarrow() -> Any:
    return import_extra("pyarrow", "arrow", "reading Arrow data")


def _one_chunk(column: Any) -> Any:
    if not hasattr(column, "num_chunks"):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _batch(table: Any) -> Batch:
    names = table.schema.names
    if len(set(names)) != len(names):
        raise ValueError(f"the columns of a batch need distinct names, found {names}")
    columns = {}
    for name, array, _ in storable_columns(table):
        try:
            columns[name] = _column(_one_chunk(array))
        except TypeError as error:
            raise TypeError(f"column {name!r}: {error}") from error
    return Batch(columns, num_rows=table.num_rows)


def _column(array: Any) -> AnyColumn:
    values = _values(array)
    if array.null_count:
        return Nullable(values, _bits(array.buffers()[0], array.offset, len(array)))
    return values


def _values(array: Any) -> AnyColumn:
    import pyarrow.types as kinds

    kind = array.type
    if kinds.is_boolean(kind):
        return _bits(array.buffers()[1], array.offset, len(array))
    if kinds.is_integer(kind) or kinds.is_floating(kind):
        return _window(_typed(array.buffers()[1], kind.to_pandas_dtype()), array)
    if kinds.is_string(kind) or kinds.is_binary(kind):
        return _from_offsets(array, np.int32, kinds.is_string(kind))
    if kinds.is_large_string(kind) or kinds.is_large_binary(kind):
        return _from_offsets(array, np.int64, kinds.is_large_string(kind))
    if kinds.is_string_view(kind) or kinds.is_binary_view(kind):
        return _from_views(array, kinds.is_string_view(kind))
    if kinds.is_fixed_size_binary(kind):
        ends = np.arange(array.offset, array.offset + len(array) + 1) * kind.byte_width
        return BytesColumn.from_offsets(ends, _typed(array.buffers()[1], np.uint8))
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        offsets = _window(_typed(array.buffers()[1], np.int32 if kinds.is_list(kind) else np.int64), array, 1)
        return Ragged(_column(array.values), offsets if len(offsets) else [0])
    if kinds.is_fixed_size_list(kind):
        return _from_fixed_size_list(array)
    raise TypeError(f"the Arrow type {kind} is not supported: cast it to numbers, strings or lists of them")


def _from_fixed_size_list(array: Any) -> AnyColumn:
    size = array.type.list_size
    values = _column(array.values.slice(array.offset * size, len(array) * size))
    if isinstance(values, Nullable) and _only_null_in_null_rows(values.valid.reshape(len(array), size), array):
        values = values.values
    if isinstance(values, np.ndarray):
        return values.reshape(len(array), size, *values.shape[1:])
    if isinstance(values, BytesColumn):
        return BytesColumn(values.views, values.buffers, text=values.text, shape=(size, *values.shape), rows=len(array))
    return Ragged(values, np.arange(len(array) + 1) * size)


def _only_null_in_null_rows(valid: NDArray[np.bool_], array: Any) -> bool:
    """Whether the only null values are those of null rows, which Polars marks at both levels."""
    if not array.null_count:
        return False
    return bool(valid[_bits(array.buffers()[0], array.offset, len(array))].all())


def _from_offsets(array: Any, dtype: type[np.integer[Any]], text: bool) -> BytesColumn:
    _, offsets, data = array.buffers()
    return BytesColumn.from_offsets(_window(_typed(offsets, dtype), array, 1), _typed(data, np.uint8), text=text)


def _from_views(array: Any, text: bool) -> BytesColumn:
    _, views, *data = array.buffers()
    return BytesColumn(
        _window(_typed(views, np.int32).reshape(-1, 4), array), [_typed(buffer, np.uint8) for buffer in data], text=text
    )


def _window(values: NDArray[Any], array: Any, extra: int = 0) -> NDArray[Any]:
    return values[array.offset : array.offset + len(array) + extra]


def _typed(buffer: Any, dtype: Any) -> NDArray[Any]:
    return (
        np.empty(0, dtype) if buffer is None else np.frombuffer(buffer, dtype, len(buffer) // np.dtype(dtype).itemsize)
    )


def _bits(buffer: Any, offset: int, length: int) -> NDArray[np.bool_]:
    bits = np.unpackbits(_typed(buffer, np.uint8), count=offset + length, bitorder="little")
    return bits[offset:].view(np.bool_)
