"""Files behind HTTP, where a server may know no ranges: asked for a part of a file, it sends all of it."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Generator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from penstock.files import remote
from penstock.files.copies import Copies
from penstock.files.remote import RemoteFiles, check_whole, open_filesystem, with_retries

_copies = Copies()
_warned: set[str] = set()


class HttpFiles(RemoteFiles):
    """``http://`` and ``https://``. A file that comes whole where a part was asked for is kept for the next part."""

    def info(self, path: str) -> dict[str, Any]:
        info = super().info(path)
        _copies.forget_other(path, _version(info))
        return info

    def read(self, path: str, start: int, stop: int) -> bytes:
        kept = _copies.read(path, start, stop)
        if kept is not None:
            return kept
        data = super().read(path, start, stop)
        too_long = len(data) > stop - start
        if too_long or (start and len(data) < stop - start):  # all of a file may be less than what was asked for
            info = self.info(path)
            if len(data) == info.get("size"):
                _warn(path)
                _copies.keep(path, _version(info), data)
                return data[start:stop]
        return data[start:stop] if too_long else data

    def stream(self, path: str) -> Generator[bytes, None, None]:
        size = self.stat(path).size
        if not size:
            yield from super().stream(path)
            return
        done = 0
        with closing(with_retries(path, lambda: _Answer(path, size))) as answer:
            for piece in answer:
                done += len(piece)
                yield piece
        if done != size:
            # The server knows ranges: that was the first.
            check_whole(path, 0, remote.RANGE_BYTES, done)
            yield from self.stream_ranges(path, done, size)


class _Answer:
    """The answer to a request for the first range, which may be the whole file."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        filesystem, name = open_filesystem(path)
        stop = min(remote.RANGE_BYTES, size)
        headers = {**filesystem.kwargs.get("headers", {}), "Range": f"bytes=0-{stop - 1}"}
        self._file = filesystem.open(name, "rb", block_size=0, size=size, headers=headers)
        self._first = bytearray()
        # Here, where a failure is followed by another try; what comes behind is passed on as it comes.
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
            f"the server {server} sends whole files where parts are asked for: each that is not read in order is"
            " fetched once, and kept as a temporary file; copy large data first:  penstock convert URL -o NAME",
            stacklevel=2,
        )
