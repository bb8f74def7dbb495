"""Copies of files that cannot be read in parts where they lie."""

from __future__ import annotations

import atexit
import os
import tempfile
from threading import Lock
from typing import Any, BinaryIO


class Copies:
    """Whole files, one behind the other in a temporary file that is gone with the process. Safe to share by threads."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = Lock()
        self._file: BinaryIO | None = None
        self._kept: dict[str, tuple[Any, int, int]] = {}
        """Of each path its version, where it starts and where it ends."""

    def keep(self, path: str, version: Any, data: bytes) -> None:
        """Keep a file as it is in a version of it."""
        if self._process != os.getpid():
            self._start()  # a forked child shares the place in the file with its parent, and would read elsewhere
        with self._lock:
            if path in self._kept:
                return  # another thread was quicker
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="penstock-")  # noqa: SIM115
                atexit.register(self._file.close)
            start = self._file.seek(0, os.SEEK_END)
            self._file.write(data)
            self._kept[path] = version, start, start + len(data)

    def forget_other(self, path: str, version: Any) -> None:
        """Let go of a file that is kept in another version."""
        if self._process != os.getpid():
            return  # nothing is kept here, and the lock may have been held when the process forked
        with self._lock:
            if path in self._kept and self._kept[path][0] != version:
                del self._kept[path]

    def read(self, path: str, start: int, stop: int) -> bytes | None:
        """Answer a part of a file; None where it is not kept."""
        if self._process != os.getpid():
            return None
        with self._lock:
            if path not in self._kept or self._file is None:
                return None
            _, begin, end = self._kept[path]
            self._file.seek(begin + start)
            return self._file.read(max(0, min(begin + stop, end) - begin - start))
