"""Hidden files next to a dataset: those that are being written, and those that are being replaced."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from penstock.storage import FileStore, is_remote, split_path

_CLOSED = -1  # a lock whose file is still there
_LONGEST_STEM = 100  # bytes; a whole name has at most 255 on most file systems


class TemporaryFiles:
    """Hidden local files of one writer: ``.<dataset>-<label>.<8 hex digits>.partial``.

    An empty file without a label is locked while the writer lives. So the next writer can detect what a killed process
    left, and removes it.
    """

    def __init__(self, base: str) -> None:
        self._stem = hidden_stem(base)
        self._token = os.urandom(4).hex()
        self._lock: int | None = None
        self._mutex = threading.Lock()

    def path(self, label: str) -> str:
        """Return the path of a temporary file."""
        with self._mutex:
            if self._lock is None and not is_remote(self._stem):
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
                self._lock = os.open(self._lock_path, flags, 0o666)
                _lock(self._lock)
        return f"{self._stem}-{label}.{self._token}.partial"

    def close(self) -> None:
        """Release the lock; the files themselves have been renamed or removed."""
        if self._lock is None:
            return
        self.leave()
        os.unlink(self._lock_path)
        self._lock = None

    def leave(self) -> None:
        """Release the lock and keep its file, so that the next writer removes what is left."""
        lock, self._lock = self._lock, _CLOSED
        if lock is not None and lock != _CLOSED:
            os.close(lock)

    @property
    def _lock_path(self) -> str:
        return f"{self._stem}.{self._token}.partial"


@contextmanager
def temporary_folder(base: str, label: str) -> Iterator[str]:
    """Make a hidden folder of a writer, and remove it in the end; what killed processes left is removed first."""
    remove_abandoned(base)
    files = TemporaryFiles(base)
    try:
        folder = files.path(label)
        os.mkdir(folder)
        yield folder
    except BaseException as error:
        try:
            _remove_folder(files, label)
        except OSError as second:
            error.add_note(f"{files.path(label)}, which is temporary, is left: {second}")
        raise
    try:
        _remove_folder(files, label)
    except OSError as error:
        error.add_note("the output is complete; this is left, and can be removed")
        raise


def _remove_folder(files: TemporaryFiles, label: str) -> None:
    folder = files.path(label)
    try:
        if os.path.exists(folder):
            shutil.rmtree(folder)
    except BaseException:
        files.leave()
        raise
    files.close()


def hidden_stem(base: str) -> str:
    """Return how the paths of a dataset's hidden files begin."""
    folder, name = split_path(base)
    while len(os.fsencode(name)) > _LONGEST_STEM:
        name = name[:-1]
    return f"{folder}.{name}"


def remove_abandoned(base: str) -> None:
    """Remove the temporary files of processes that were killed while they wrote a dataset on this machine."""
    folder, stem = split_path(hidden_stem(base))
    pattern = re.compile(rf"{re.escape(stem)}(-.+)?\.(?P<token>[0-9a-f]{{8}})\.partial")
    files: dict[str, list[str]] = {}
    for name in os.listdir(folder or "."):
        if found := pattern.fullmatch(name):
            files.setdefault(found["token"], []).append(folder + name)
    for token, paths in files.items():
        if f"{folder}{stem}.{token}.partial" in paths and _is_abandoned(f"{folder}{stem}.{token}.partial"):
            with suppress(OSError):  # the lock comes last, "-" sorts before ".": it stays as long as the others
                for path in sorted(paths):
                    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def _is_abandoned(path: str) -> bool:
    """Whether the writer that locked a file is gone."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        # Windows has no such locks, but does not remove a file that is open.
        return _lock(descriptor) if os.name != "nt" else True
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file until its descriptor is closed; return whether that was possible."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # Windows, another writer, a file system without locks
        return False
    return True


class OldFiles(Protocol):
    """The files of a dataset that is replaced."""

    @property
    def are_gone(self) -> bool:
        """Whether some of them are lost."""

    def step_aside(self) -> None:
        """Free the names, in order."""

    def come_back(self, error: BaseException) -> None:
        """Restore the files after an error; a note is added to it where that fails."""

    def remove(self) -> None:
        """Remove the files: the new dataset is complete."""


def old_files(store: FileStore, paths: list[str]) -> OldFiles:
    """Return how the files at some paths are replaced."""
    return _RenamedFiles(paths) if store.capabilities.rename else _RemovedFiles(store, paths)


class _RenamedFiles:
    """Local files get hidden names, and their own ones again after a failure."""

    are_gone = False

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        self._ending = f".{os.urandom(4).hex()}.replaced"
        self._renamed: list[str] = []

    def step_aside(self) -> None:
        for path in self._paths:
            os.rename(path, self._hidden(path))
            self._renamed.append(path)

    def come_back(self, error: BaseException) -> None:
        for path in reversed(self._renamed):
            try:
                os.replace(self._hidden(path), path)
            except OSError as second:
                error.add_note(f"{path}, which was to be replaced, is now {self._hidden(path)}: {second}")

    def remove(self) -> None:
        failures: list[OSError] = []
        for path in self._renamed:
            try:
                os.unlink(self._hidden(path))
            except OSError as error:
                failures.append(error)
        if failures:
            failures[0].add_note("the new dataset is complete; this file is left of the one that it replaces")
            raise failures[0]

    def _hidden(self, path: str) -> str:
        folder, name = os.path.split(path)
        return os.path.join(folder, f".{name}{self._ending}")


class _RemovedFiles:
    """Files of a store that cannot rename are removed."""

    def __init__(self, store: FileStore, paths: list[str]) -> None:
        self._store = store
        self._paths = paths
        self._removed = 0

    @property
    def are_gone(self) -> bool:
        return self._removed > 0

    def step_aside(self) -> None:
        for path in self._paths:
            self._store.remove(path)
            self._removed += 1

    def come_back(self, error: BaseException) -> None:
        pass

    def remove(self) -> None:
        pass
