"""A block as bytes: a description in JSON, then the memory of its columns. No pickle: reading it runs no code."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.columns import AnyColumn, Batch, BytesColumn, Nullable, Ragged, collate
from penstock.dataset.block import Block, Cursor, Elements
from penstock.dataset.order import Keys
from penstock.schema.dtype import DTYPES, numpy_dtype

_ALIGNMENT = 64
_LENGTH = struct.Struct("<Q")

Bytes: TypeAlias = NDArray[np.uint8]

UNREADABLE = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    StopIteration,
    OverflowError,
    RecursionError,
    struct.error,
)
"""What reading a description that is none raises."""


def storable(elements: Elements) -> Elements:
    """Answer elements in a form that can be stored: rows of columns, or batches; dicts become rows of columns."""
    if isinstance(elements, Batch) or all(isinstance(element, Batch) for element in elements):
        return elements
    if all(isinstance(element, Mapping) for element in elements):
        batch = collate(elements)
        assert isinstance(batch, Batch)
        return batch
    kinds = sorted({type(element).__name__ for element in elements})
    raise TypeError(
        f"a cache on disk keeps dicts and batches, not {', '.join(kinds)}: cache() in memory keeps anything"
    )


def encode(block: Block) -> list[Bytes]:
    """Answer the bytes of a block, in pieces; its elements are storable."""
    rows = isinstance(block.elements, Batch)
    batches = [block.elements] if isinstance(block.elements, Batch) else block.elements
    parts: list[Bytes] = []
    keys = Batch({"rows": block.keys.rows, "epochs": block.keys.epochs})
    described = [_describe_batch(batch, parts) for batch in (keys, *batches)]
    sizes = [part.nbytes for part in parts]
    head = json.dumps({"rows": rows, "batches": described, "sizes": sizes}).encode()
    pieces = [_bytes_of(np.frombuffer(_LENGTH.pack(len(head)) + head, np.uint8)), *parts]
    return [aligned for piece in pieces for aligned in (piece, np.zeros(-piece.nbytes % _ALIGNMENT, np.uint8))]


def decode(memory: Bytes, start: Cursor, stop: Cursor) -> Block:
    """Answer a block of columns that share the memory; raises one of UNREADABLE where it is none."""
    (length,) = _LENGTH.unpack_from(memory.data)
    position = _LENGTH.size + length
    if position > memory.nbytes:
        raise ValueError("the description is longer than the block")
    head = json.loads(memory[_LENGTH.size : position].tobytes())
    parts = iter(_split(memory, position, head["sizes"]))
    keys, *batches = [_batch(described, parts) for described in head["batches"]]
    elements: Elements = batches[0] if head["rows"] else list(batches)
    return Block(elements, Keys(_int64(keys["rows"]), _int64(keys["epochs"])), start, stop)


def _split(memory: Bytes, position: int, sizes: list[int]) -> Iterator[Bytes]:
    for size in sizes:
        position += -position % _ALIGNMENT
        if size < 0 or position + size > memory.nbytes:
            raise ValueError("a column reaches beyond the block")
        yield memory[position : position + size]
        position += size


def _describe_batch(batch: Batch, parts: list[Bytes]) -> dict[str, Any]:
    columns = {name: _describe(column, parts) for name, column in batch.items()}
    return {"rows": batch.num_rows, "columns": columns}


def _describe(column: AnyColumn, parts: list[Bytes]) -> dict[str, Any]:
    if isinstance(column, Nullable):
        parts.append(_bytes_of(column.valid))
        return {"kind": "nullable", "values": _describe(column.values, parts)}
    if isinstance(column, Ragged):
        own = column.copy()
        parts.append(_bytes_of(own.offsets))
        return {"kind": "ragged", "values": _describe(own.values, parts)}
    if isinstance(column, BytesColumn):
        compact = column.compact()
        parts += [_bytes_of(compact.views), *compact.buffers]
        shape = {"text": compact.text, "shape": list(compact.shape), "rows": len(compact)}
        return {"kind": "bytes", "buffers": len(compact.buffers)} | shape
    assert isinstance(column, np.ndarray)
    if column.dtype.name not in DTYPES:
        raise TypeError(f"a cache on disk keeps no arrays of {column.dtype}")
    parts.append(_bytes_of(column.astype(column.dtype.newbyteorder("="), copy=False)))
    return {"kind": "dense", "dtype": column.dtype.name, "shape": list(column.shape)}


def _batch(described: dict[str, Any], parts: Iterator[Bytes]) -> Batch:
    columns = {name: _column(node, parts) for name, node in described["columns"].items()}
    return Batch(columns, num_rows=described["rows"])


def _column(node: dict[str, Any], parts: Iterator[Bytes]) -> AnyColumn:
    kind, part = node["kind"], next(parts)
    if kind == "nullable":
        return Nullable(_column(node["values"], parts), part != 0)
    if kind == "ragged":
        return Ragged(_column(node["values"], parts), part.view(np.int64))
    if kind == "bytes":
        buffers = [next(parts) for _ in range(node["buffers"])]
        views = part.view(np.int32).reshape(-1, 4)
        return BytesColumn(views, buffers, text=node["text"], shape=node["shape"], rows=node["rows"])
    if kind == "dense":
        return part.view(numpy_dtype(node["dtype"])).reshape(node["shape"])
    raise ValueError(f"no kind of column: {str(kind)[:40]}")


def _bytes_of(array: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _int64(column: AnyColumn) -> NDArray[np.int64]:
    if not isinstance(column, np.ndarray) or column.dtype != np.int64:
        raise TypeError("keys are int64")
    return column
