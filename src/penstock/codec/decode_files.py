"""Batches straight from local files: native threads read, check and decode."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._core import DecodeFault, Fault, FaultInFile, RecordChunk
from penstock.columns import Batch
from penstock.compression.detect import HEAD_BYTES, detect
from penstock.errors import CorruptDataError, MalformedExampleError, RowFault, malformed
from penstock.records.damage import error_of, lookalike
from penstock.storage import StrPath, locate
from penstock.storage.local import naming

Decoded: TypeAlias = tuple[int, list[Any], list[NDArray[np.uint8]], DecodeFault | None]
"""What the native decoder answers: rows, columns, the buffers of their views, or what is wrong."""
FilePosition: TypeAlias = tuple[int, int, int]
"""Index of a file, byte offset of a frame in it, number of its record."""


class FileBatches:
    """An iterator of batches; :meth:`close` ends its threads, and so does its end.

    Before an error come the rows in front of it, as a shorter batch.
    """

    def __init__(
        self,
        native: _core.FileBatches,
        paths: Sequence[str],
        build: Callable[[Decoded], Batch],
        reopen: Callable[[FilePosition, int], FileBatches],
    ) -> None:
        self._native: _core.FileBatches | None = native
        self._paths = paths
        self._build, self._reopen = build, reopen
        self._place = native.position
        self._failure: MalformedExampleError | None = None
        """What is left to raise, once the rows in front of it were given out."""

    def __iter__(self) -> FileBatches:
        return self

    def __next__(self) -> Batch:
        if self._native is None:
            raise StopIteration
        try:
            if self._failure is not None:
                raise self._failure
            found = self._native.next()
            if found is None:
                raise StopIteration
            if isinstance(found, FaultInFile):
                raise damage_error(found.fault, self._paths[found.file])
            return self._sound(found)
        except BaseException:
            self.close()
            raise

    def _sound(self, decoded: Decoded) -> Batch:
        """Return a batch, or where a row of it does not decode, those in front of it."""
        assert self._native is not None
        try:
            batch = self._build(decoded)
        except RowFault as fault:
            error, count = malformed(fault, self._locate), fault.row
        else:
            self._place = self._native.position
            return batch
        if not count:
            raise error
        with closing(self._reopen(self._place, count)) as front:
            batch = next(front)
            self._place, self._failure = front._place, front._failure or error
        return batch

    @property
    def place(self) -> FilePosition:
        """Where the first row stands that is not in a batch given out: where another pass could go on."""
        return self._place

    def close(self) -> None:
        """End the threads and close the files."""
        if self._native is not None:
            native, self._native = self._native, None
            native.close()

    def _locate(self, row: int) -> tuple[str, int]:
        assert self._native is not None
        file, record = self._native.position_of(row)
        return self._paths[file], record


def local_paths(paths: Sequence[StrPath]) -> list[str]:
    """Check that all are local files that native threads can read."""
    checked = []
    for given in paths:
        store, path = locate(given)
        if not store.capabilities.native_paths or not store.stat(path).seekable:
            found = "is none"
        elif kind := detect(store.read(path, 0, HEAD_BYTES)):
            found = f"is {kind} data"
        else:
            checked.append(path)
            continue
        raise ValueError(
            f"decode_files reads local uncompressed files, and {os.fspath(given)!r} {found}: "
            "decode_batches(ps.RecordReader(path).chunks(), size) reads it"
        )
    return checked


def file_chunks(
    paths: Sequence[str], *, verify: bool, max_record_bytes: int, threads: int
) -> Generator[RecordChunk, None, None]:
    """Read local files, one after another; raise at damage."""
    for path in paths:
        with naming(path):
            records = _core.FileRecords(path, verify=verify, max_record_bytes=max_record_bytes, threads=threads)
            try:
                while (event := records.next()) is not None:
                    if isinstance(event, Fault):
                        raise damage_error(event, path)
                    yield event
            finally:
                records.close()


def damage_error(fault: Fault, path: str) -> CorruptDataError:
    """Say what is wrong with a file, and at its very start, what it seems to be instead."""
    return error_of(fault, path, None if fault.offset else lookalike(locate(path)[0].read(path, 0, HEAD_BYTES)))
