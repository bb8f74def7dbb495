"""The files of a data set that is being replaced: out of the way until the new one is whole."""

from __future__ import annotations

import os
from typing import Protocol

from penstock.files import FileStore
from penstock.files.local import LocalFiles


class OldFiles(Protocol):
    """Files that stand where a new data set will."""

    @property
    def are_gone(self) -> bool:
        """Whether some of them are lost."""

    def step_aside(self) -> None:
        """Free the names, the first one first."""

    def come_back(self, error: BaseException) -> None:
        """Stand where they stood, after an error, which is told where that fails."""

    def go(self) -> None:
        """Leave for good: the new data set is whole."""


def old_files(store: FileStore, paths: list[str]) -> OldFiles:
    """Answer what becomes of the files at some paths."""
    return _Renamed(paths) if isinstance(store, LocalFiles) else _Removed(store, paths)


class _Renamed:
    """Local files wait under hidden names, and come back after a failure."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        self._ending = f".{os.urandom(4).hex()}.replaced"
        self._aside: list[str] = []

    @property
    def are_gone(self) -> bool:
        return False

    def step_aside(self) -> None:
        for path in self._paths:
            os.rename(path, self._hidden(path))
            self._aside.append(path)

    def come_back(self, error: BaseException) -> None:
        for path in reversed(self._aside):
            try:
                os.replace(self._hidden(path), path)
            except OSError as second:
                error.add_note(f"{path}, which was to be replaced, is now {self._hidden(path)}: {second}")

    def go(self) -> None:
        failures: list[OSError] = []
        for path in self._aside:
            try:
                os.unlink(self._hidden(path))
            except OSError as error:
                failures.append(error)
        if failures:
            failures[0].add_note("the new data set is whole; this file is left of the one that it replaces")
            raise failures[0]

    def _hidden(self, path: str) -> str:
        folder, name = os.path.split(path)
        return os.path.join(folder, f".{name}{self._ending}")


class _Removed:
    """Files of a store that cannot rename are removed, and gone."""

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

    def go(self) -> None:
        pass
