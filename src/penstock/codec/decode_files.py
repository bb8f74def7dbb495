"""Decode batches straight from local files: native threads read, verify and decode."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TypeAlias

from penstock import _core
from penstock._core import DecodedColumns, Fault, FaultInFile, RecordChunk
from penstock.columns import Batch
from penstock.compression.detect import HEAD_BYTES, detect
from penstock.errors import CorruptDataError, MalformedExampleError, RowFault, malformed
from penstock.records.damage import error_of, lookalike
from penstock.storage import StrPath, locate
from penstock.storage.local import naming

FilePosition: TypeAlias = tuple[int, int, int]
"""The index of a file, the byte offset of a frame in it, and the number of its record."""


class FileBatches:
    """An iterator of batches. Its threads end with the last batch, or with :meth:`close`.

    If a record does not decode, the rows before it come first, as a shorter batch.
    """

    def __init__(
        self,
        native: _core.FileBatches,
        paths: Sequence[str],
        build: Callable[[DecodedColumns], Batch],
        reopen: Callable[[FilePosition, int], FileBatches],
    ) -> None:
        self._native: _core.FileBatches | None = native
        self._paths = paths
        self._build, self._reopen = build, reopen
        self._position: FilePosition | None = None
        """Where to resume, if that is not the position of the native batches."""
        self._failure: MalformedExampleError | None = None
        """The error to raise next, after the rows before it have been returned."""

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
            return self._valid_rows(found)
        except BaseException:
            self.close()
            raise

    def _valid_rows(self, decoded: DecodedColumns) -> Batch:
        """Return a batch; if a row does not decode, the rows before it."""
        try:
            return self._build(decoded)
        except RowFault as fault:
            error, count = malformed(fault, self._locate), fault.row
        assert self._native is not None
        self._position = self._native.start
        if not count:
            raise error
        with closing(self._reopen(self._position, count)) as front:
            batch = next(front)
            self._position, self._failure = front.position, front._failure or error
        return batch

    @property
    def position(self) -> FilePosition:
        """The position of the first row that has not been returned, to resume from."""
        if self._position is None:
            assert self._native is not None
            return self._native.position
        return self._position

    def close(self) -> None:
        """Stop the threads and close the files."""
        if self._native is not None:
            self._position = self.position
            native, self._native = self._native, None
            native.close()

    def _locate(self, row: int) -> tuple[str, int]:
        assert self._native is not None
        file, record = self._native.position_of(row)
        return self._paths[file], record


def local_paths(paths: Sequence[StrPath]) -> list[str]:
    """Return the paths of local uncompressed files, which native threads can read; raise for others."""
    checked = []
    for given in paths:
        store, path = locate(given)
        if not store.capabilities.native_paths or not store.stat(path).seekable:
            found = "is not one"
        elif kind := detect(store.read(path, 0, HEAD_BYTES)):
            found = f"is {kind} data"
        else:
            checked.append(path)
            continue
        raise ValueError(
            f"decode_files reads local uncompressed files, but {os.fspath(given)!r} {found}: "
            "use decode_batches(ps.RecordReader(path).chunks(), size)"
        )
    return checked


def file_chunks(
    paths: Sequence[str], *, verify: bool, max_record_bytes: int, threads: int
) -> Generator[RecordChunk, None, None]:
    """Read local files, one after another; raise for damaged records."""
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


def member_batches(
    native: _core.NativeDecoder,
    build: Callable[[DecodedColumns], Batch],
    paths: Sequence[str],
    size: int,
    *,
    verify: bool,
    max_record_bytes: int,
    threads: int,
) -> Generator[Batch | None, None, None]:
    """Decode files of gzip members that state their sizes into batches of ``size`` rows.

    At anything else, damage and records that do not decode included, a last, shorter batch may come, then None.
    """
    batches = _core.FileBatches(
        paths, native, size, verify=verify, max_record_bytes=max_record_bytes, threads=threads, members=True
    )
    try:
        while isinstance(found := batches.next(), DecodedColumns):
            yield build(found)
    except (_core.NotMembers, RowFault):
        yield None
    finally:
        batches.close()


def damage_error(fault: Fault, path: str) -> CorruptDataError:
    """Return the error for a damaged record; at the start of a file it says what the file seems to be."""
    return error_of(fault, path, None if fault.offset else lookalike(locate(path)[0].read(path, 0, HEAD_BYTES)))
