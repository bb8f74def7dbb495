"""Files over HTTP, from servers with and without ranges; the latter send the whole file for every range."""

from __future__ import annotations

import atexit
import errno
import os
import tempfile
import warnings
from collections.abc import Generator
from contextlib import closing
from threading import Lock
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from penstock.storage import remote
from penstock.storage.remote import RemoteFiles, check_whole, open_filesystem, with_retries

_warned: set[str] = set()


class HttpFiles(RemoteFiles):
    """``http://`` and ``https://``. A file is cached if the server sends all of it for a range."""

    def info(self, path: str) -> dict[str, Any]:
        info = super().info(path)
        _copies.forget_other(path, _version(info))
        return info

    def read(self, path: str, start: int, stop: int) -> bytes:
        cached = _copies.read(path, start, stop)
        if cached is not None:
            return cached
        data = super().read(path, start, stop)
        too_long = len(data) > stop - start
        if too_long or (start and len(data) < stop - start):  # a whole file may be shorter than the range
            info = self.info(path)
            if len(data) == info.get("size"):
                _warn(path)
                _copies.add(path, _version(info), data)
                return data[start:stop]
        return data[start:stop] if too_long else data

    def stream(self, path: str) -> Generator[bytes, None, None]:
        size = self.stat(path).size
        if not size:
            yield from super().stream(path)
            return
        done = 0
        with closing(with_retries(path, lambda: _FirstResponse(path, size))) as response:
            for piece in response:
                done += len(piece)
                yield piece
        if done != size:
            # The server supports ranges: that was the first one.
            check_whole(path, 0, remote.RANGE_BYTES, done)
            yield from self.stream_ranges(path, done, size)


class _FirstResponse:
    """The response to a request for the first range, which may be the whole file."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        filesystem, name = open_filesystem(path)
        stop = min(remote.RANGE_BYTES, size)
        headers = {**filesystem.kwargs.get("headers", {}), "Range": f"bytes=0-{stop - 1}"}
        self._file = filesystem.open(name, "rb", block_size=0, size=size, headers=headers)
        self._first = bytearray()
        # Read the first range here, where a failure is retried; the rest is yielded as it arrives.
        while len(self._first) < stop and (piece := self._file.read(stop - len(self._first))):
            self._first += piece

    def __iter__(self) -> Generator[bytes, None, None]:
        yield bytes(self._first)
        try:
            while piece := self._file.read(remote.PIECE_BYTES):
                yield piece
        except Exception as error:
            if isinstance(error, OSError):
                raise
            raise OSError(errno.EIO, f"cannot be read to its end ({error})", self._path) from error

    def close(self) -> None:
        self._file.close()


def _version(info: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(info.get(key) for key in ("size", "ETag", "Last-Modified"))


def _warn(path: str) -> None:
    server = urlsplit(path).netloc
    if server not in _warned:
        _warned.add(server)
        warnings.warn(
            f"the server {server} sends whole files when ranges are requested: each file that is not read in order is"
            " fetched once and cached in a temporary file; copy large data first:  penstock convert URL -o NAME",
            stacklevel=2,
        )


class Copies:
    """A cache of whole files, in one temporary file that is deleted with the process. Thread-safe."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = Lock()
        self._file: BinaryIO | None = None
        self._stored: dict[str, tuple[Any, int, int]] = {}
        """The version of each path, its start and its end."""

    def add(self, path: str, version: Any, data: bytes) -> None:
        """Store one version of a file."""
        if self._process != os.getpid():
            self._start()  # a forked child shares the file position with its parent
        with self._lock:
            if path in self._stored:
                return  # another thread was faster
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="penstock-")  # noqa: SIM115
                atexit.register(self._file.close)
            start = self._file.seek(0, os.SEEK_END)
            self._file.write(data)
            self._stored[path] = version, start, start + len(data)

    def forget_other(self, path: str, version: Any) -> None:
        """Drop a file that is stored in another version."""
        if self._process != os.getpid():
            return  # nothing is stored here, and the lock may have been held when the process forked
        with self._lock:
            if path in self._stored and self._stored[path][0] != version:
                del self._stored[path]

    def read(self, path: str, start: int, stop: int) -> bytes | None:
        """Return a part of a file; None if it is not stored."""
        if self._process != os.getpid():
            return None
        with self._lock:
            if path not in self._stored or self._file is None:
                return None
            _, begin, end = self._stored[path]
            self._file.seek(begin + start)
            return self._file.read(max(0, min(begin + stop, end) - begin - start))


_copies = Copies()
