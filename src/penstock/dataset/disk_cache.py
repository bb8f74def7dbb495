"""Stores blocks in a folder: a JSON header each, then the memory of the columns. No pickle: reading runs no code."""

from __future__ import annotations

import json
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.columns import AnyColumn, Batch, BytesColumn, Nullable, Ragged, collate
from penstock.dataset.block import Block, Cursor, Elements
from penstock.dataset.order import RowKeys
from penstock.errors import ChecksumError, CorruptDataError, TruncatedError
from penstock.format_header import FormatHeader
from penstock.schema.dtype import DTYPES, numpy_dtype

_ALIGNMENT = 64
_LENGTH = struct.Struct("<Q")
Bytes: TypeAlias = NDArray[np.uint8]
DECODE_ERRORS = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    StopIteration,
    OverflowError,
    RecursionError,
    struct.error,
)
"""What decoding a damaged header may raise."""


def storable(elements: Elements) -> Elements:
    """Return elements as columns, or as batches; dicts become columns."""
    if isinstance(elements, Batch) or all(isinstance(element, Batch) for element in elements):
        return elements
    if all(isinstance(element, Mapping) for element in elements):
        batch = collate(elements)
        assert isinstance(batch, Batch)
        return batch
    kinds = sorted({type(element).__name__ for element in elements})
    raise TypeError(
        f"a cache on disk stores dicts and batches, not {', '.join(kinds)}: use cache() without a path, in memory"
    )


def encode(block: Block) -> list[Bytes]:
    """Return the bytes of a block with storable elements, in pieces."""
    rows = isinstance(block.elements, Batch)
    batches = [block.elements] if isinstance(block.elements, Batch) else block.elements
    parts: list[Bytes] = []
    keys = Batch({"rows": block.keys.rows, "epochs": block.keys.epochs})
    headers = [_describe_batch(batch, parts) for batch in (keys, *batches)]
    sizes = [part.nbytes for part in parts]
    head = json.dumps({"rows": rows, "batches": headers, "sizes": sizes}).encode()
    pieces = [_bytes_of(np.frombuffer(_LENGTH.pack(len(head)) + head, np.uint8)), *parts]
    return [aligned for piece in pieces for aligned in (piece, np.zeros(-piece.nbytes % _ALIGNMENT, np.uint8))]


def decode(memory: Bytes, start: Cursor, stop: Cursor) -> Block:
    """Return a block whose columns share the memory; raise one of DECODE_ERRORS if it is no block."""
    (length,) = _LENGTH.unpack_from(memory.data)
    position = _LENGTH.size + length
    if position > memory.nbytes:
        raise ValueError("the header is longer than the block")
    head = json.loads(memory[_LENGTH.size : position].tobytes())
    parts = iter(_split(memory, position, head["sizes"]))
    keys, *batches = [_batch(described, parts) for described in head["batches"]]
    elements: Elements = batches[0] if head["rows"] else list(batches)
    return Block(elements, RowKeys(_int64(keys["rows"]), _int64(keys["epochs"])), start, stop)


def _split(memory: Bytes, position: int, sizes: list[int]) -> Iterator[Bytes]:
    for size in sizes:
        position += -position % _ALIGNMENT
        if size < 0 or position + size > memory.nbytes:
            raise ValueError("a column extends beyond the block")
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
        ragged = column.copy()
        parts.append(_bytes_of(ragged.offsets))
        return {"kind": "ragged", "values": _describe(ragged.values, parts)}
    if isinstance(column, BytesColumn):
        compact = column.compact()
        parts += [_bytes_of(compact.views), *compact.buffers]
        shape = {"text": compact.text, "shape": list(compact.shape), "rows": len(compact)}
        return {"kind": "bytes", "buffers": len(compact.buffers)} | shape
    assert isinstance(column, np.ndarray)
    if column.dtype.name not in DTYPES:
        raise TypeError(f"a cache on disk cannot store arrays of {column.dtype}: use cache() without a path, in memory")
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
    raise ValueError(f"unknown kind of column: {str(kind)[:40]}")


def _bytes_of(array: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _int64(column: AnyColumn) -> NDArray[np.int64]:
    if not isinstance(column, np.ndarray) or column.dtype != np.int64:
        raise TypeError("keys must be int64")
    return column


HEADER = FormatHeader("cache", "penstock.cache", 1)


class BlockEntry(NamedTuple):
    """Where a block is in the file, and its start and stop in the pipeline."""

    offset: int
    length: int
    checksum: int
    start: Cursor
    stop: Cursor


class CachedBlocks:
    """The blocks of a complete cache folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "blocks"
        index = folder / "index.json"
        try:
            self.entries = _entries(json.loads(index.read_bytes()))
        except DECODE_ERRORS as error:
            raise CorruptDataError(
                f"{index} is not the index of a cache ({error}): remove {folder}", path=str(index)
            ) from error

    def read(self, number: int) -> Block:
        """Read and check a block."""
        offset, length, checksum, start, stop = self.entries[number]
        where = f"{self._path}, byte {offset}: remove {self._path.parent}"
        details: dict[str, Any] = {"path": str(self._path), "offset": offset, "record": number}
        with open(self._path, "rb") as file:
            # Checked before memory is allocated.
            if offset + length > os.fstat(file.fileno()).st_size:
                raise TruncatedError(f"a block extends beyond the end of the cache: {where}", **details)
            file.seek(offset)
            memory = np.fromfile(file, np.uint8, length)
        if memory.nbytes != length:
            raise TruncatedError(f"a block extends beyond the end of the cache: {where}", **details)
        if _core.crc32c(memory) != checksum:
            raise ChecksumError(f"a block of the cache is damaged: {where}", **details)
        try:
            return decode(memory, start, stop)
        except DECODE_ERRORS as error:
            raise CorruptDataError(f"a block of the cache cannot be decoded ({error}): {where}", **details) from error


def _entries(index: Any) -> list[BlockEntry]:
    HEADER.check(index, ValueError)
    entries = [BlockEntry(*entry) for entry in index["blocks"]]
    for entry in entries:
        if not all(type(number) is int and number >= 0 for number in entry[:3]):
            raise ValueError("the offsets of its blocks are not numbers")
    return entries


class CachedBlocksWriter:
    """Writes a cache folder; it is removed unless it is committed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(folder)
        self._begin()
        # Until it was locked, another writer may have removed it as abandoned.
        while not os.path.exists(self._file.name):
            self._file.close()
            self._begin()
        self._entries: list[BlockEntry] = []

    def _begin(self) -> None:
        self._unfinished = Path(tempfile.mkdtemp(prefix=f".{self._folder.name}.", dir=self._folder.parent))
        self._file: BinaryIO = open(self._unfinished / "blocks", "wb")  # noqa: SIM115
        # Locked as long as this process lives: an unlocked folder is abandoned. Windows and some network file systems
        # have no such locks; nothing is removed there.
        with suppress(OSError, ImportError):
            import fcntl

            fcntl.flock(self._file, fcntl.LOCK_EX)

    def add(self, block: Block) -> None:
        """Write a block with storable elements."""
        offset, checksum = self._file.tell(), 0
        for piece in encode(block):
            checksum = _core.crc32c(piece, checksum)
            self._file.write(piece.data)
        self._entries.append(BlockEntry(offset, self._file.tell() - offset, checksum, block.start, block.stop))

    def commit(self) -> None:
        """Make the folder durable and visible, unless another process has committed it first."""
        index = {**HEADER.to_json(), "blocks": self._entries}
        with open(self._unfinished / "index.json", "w") as file:
            json.dump(index, file)
            file.flush()
            os.fsync(file.fileno())
        self._file.flush()
        os.fsync(self._file.fileno())
        if os.name == "nt":
            self._file.close()  # Windows renames no folder with open files; elsewhere the lock is still needed
        try:
            self._unfinished.rename(self._folder)
        except OSError:
            if not self._folder.exists():
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        shutil.rmtree(self._unfinished, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    for unfinished in folder.parent.glob(f".{folder.name}.*"):
        try:
            import fcntl

            with open(unfinished / "blocks", "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(unfinished, ignore_errors=True)
        except (OSError, ImportError):  # another process is writing it, or has just finished
            continue
