"""Standard input and output, under the name ``-``."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Generator

from penstock._core import FrameBuffer
from penstock.files.protocol import FileInfo, Upload

_PIECE = 1 << 20


class StandardStreams:
    """One stream in, one stream out."""

    _was_read = False

    def stat(self, path: str) -> FileInfo:
        return FileInfo(size=None, seekable=False)

    def read(self, path: str, start: int, stop: int) -> bytes:
        raise OSError(errno.ESPIPE, "standard input has no ranges", path)

    def stream(self, path: str) -> Generator[bytes, None, None]:
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed", path)
        if self._was_read:  # a second pass would find nothing, and call that all
            raise OSError(errno.ESPIPE, "standard input flows by once, and was read before", path)
        self._was_read = True
        descriptor = sys.stdin.fileno()
        while piece := os.read(descriptor, _PIECE):
            yield piece

    def list(self, pattern: str) -> list[str]:
        return [pattern]

    def put(self, path: str, *, atomic: bool) -> Upload:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "standard output is closed", path)
        return StandardOutput()

    def remove(self, path: str) -> None:
        raise OSError(errno.ESPIPE, "standard output cannot be taken back", path)


class StandardOutput:
    """Standard output being written: what is sent cannot be taken back."""

    def __init__(self) -> None:
        self._out = sys.stdout.buffer

    def write(self, data: bytes) -> None:
        self._out.write(data)

    def write_frames(self, frames: FrameBuffer) -> None:
        self._out.write(frames.take())

    def flush(self) -> None:
        self._out.flush()

    def sync(self) -> None:
        self._out.flush()

    def commit(self, *, sync: bool) -> None:
        self._out.flush()

    def abort(self) -> str | None:
        return None
