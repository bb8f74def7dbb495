"""The records of an ArrayRecord file, through the native reader of the package array_record."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from threading import Lock
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from penstock.errors import CorruptDataError, NotSeekableError, import_extra
from penstock.storage import locate

# Without threads of its own, a reader works in forked processes too. Nothing next to a record is read.
_READER_OPTIONS = "readahead_buffer_size:0,max_parallelism:0"
_MOST_OPEN_FILES = 64
# The errors of its reader.
_READER_ERRORS = (RuntimeError, ValueError, IndexError)


class _Reader:
    """An open file."""

    def __init__(self, path: str) -> None:
        store, name = locate(path)
        if not store.capabilities.native_paths:
            raise NotSeekableError(
                f"{path}: the package array_record reads local files only: copy the folder to a disk", path=path
            )
        with open(name, "rb"):
            pass  # raises the error of the operating system
        import_extra("array_record", "array_record", f"reading {path}")
        module = import_module("array_record.python.array_record_module")
        self._lock = Lock()
        try:
            self._reader: Any = module.ArrayRecordReader(name, options=_READER_OPTIONS, file_reader_buffer_size=1 << 15)
            self.records = int(self._reader.num_records())
            # It takes any file without a footer for an empty one.
            is_damaged = not self.records and not self._reader.writer_options_string()
        except _READER_ERRORS as error:
            raise _damaged(path, None, str(error)) from None
        if is_damaged:
            raise _damaged(path, None, "it has no footer")

    def read(self, rows: list[int]) -> list[bytes]:
        """Return records by ascending numbers."""
        with self._lock:
            if rows[-1] - rows[0] == len(rows) - 1:
                return list(self._reader.read(rows[0], rows[-1] + 1))
            return list(self._reader.read(rows))


class OpenReaders:
    """The files that are open, not more than some at once. Each process opens its own."""

    def __init__(self) -> None:
        self._open = lru_cache(_MOST_OPEN_FILES)(lambda path, process: _Reader(path))

    def get(self, path: str) -> _Reader:
        """Return an open file."""
        return self._open(path, os.getpid())

    def clear(self) -> None:
        """Open files again: after an error, a reader raises for every record."""
        self._open.cache_clear()


class ArrayRecordIndex:
    """One file; it holds where its records are."""

    compression = ""
    segments = None
    seekable = True
    seekable_by_itself = True

    def __init__(self, path: str, readers: OpenReaders) -> None:
        self.path, self._readers = path, readers
        self.records = readers.get(path).records
        """The number of records."""

    def read(self, rows: list[int]) -> list[bytes]:
        """Return records by ascending numbers.

        Raises:
            CorruptDataError: One of them cannot be read.
        """
        try:
            return self._readers.get(self.path).read(rows)
        except _READER_ERRORS as error:
            self._readers.clear()
            raise _damaged(self.path, rows[0], str(error)) from None

    def locations(self, rows: ArrayLike) -> NoReturn:
        """Raise: there are no frames."""
        raise TypeError(f"{self.path} is an ArrayRecord file, whose records have no frames to copy: leave memory= out")

    def layout(self) -> NoReturn:
        """Raise: there are no frames."""
        self.locations(())


def _damaged(path: str, record: int | None, reason: str) -> CorruptDataError:
    where = path if record is None else f"{path}, record {record}"
    return CorruptDataError(
        f"the ArrayRecord file is damaged: {where}: {reason[:300]}", path=path, record=record, kind="array-record"
    )
