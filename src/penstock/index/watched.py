"""A store of files whose streams somebody watches as they go by."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing

from penstock.files import FileInfo, FileStore, Upload


class WatchedFiles:
    """Another store, whose streams are shown to ``watch`` piece by piece."""

    def __init__(self, store: FileStore, watch: Callable[[bytes], None]) -> None:
        self._store = store
        self._watch = watch

    def stream(self, path: str) -> Generator[bytes, None, None]:
        with closing(self._store.stream(path)) as pieces:
            for piece in pieces:
                self._watch(piece)
                yield piece

    def stat(self, path: str) -> FileInfo:
        return self._store.stat(path)

    def read(self, path: str, start: int, stop: int) -> bytes:
        return self._store.read(path, start, stop)

    def list(self, pattern: str) -> list[str]:
        return self._store.list(pattern)

    def put(self, path: str, *, atomic: bool) -> Upload:
        return self._store.put(path, atomic=atomic)

    def remove(self, path: str) -> None:
        self._store.remove(path)
