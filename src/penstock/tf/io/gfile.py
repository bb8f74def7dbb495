"""``tf.io.gfile``: files and directories by path or URL."""

from __future__ import annotations

import glob as globbing
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from penstock.errors import import_extra
from penstock.storage import is_remote
from penstock.tf.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    tensorflow_errors,
)
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow


class GFile:
    """A file that is opened when it is first read or written; positions are in bytes, and text is UTF-8.

    As in TensorFlow, reading and writing have positions of their own, and a closed file can be read again.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode not in ("r", "w", "a", "r+", "w+", "a+", "rb", "wb", "ab", "r+b", "w+b", "a+b", "rb+", "wb+", "ab+"):
            raise InvalidArgumentError(f"expected a mode such as r, w, a or rb, found {mode!r}")
        self.name, self.mode = _path(name), mode
        self._reader: IO[bytes] | None = None
        self._writer: IO[bytes] | None = None

    def read(self, n: int = -1) -> Any:
        """Read some bytes, or all."""
        if n < -1:
            raise InvalidArgumentError(f"Requested number of bytes must be -1 or more, found {n}")
        return self._as_result(self._for_reading().read(n))

    def readline(self) -> Any:
        """Read a line with its end; nothing at the end of the file."""
        return self._as_result(self._for_reading().readline())

    def readlines(self) -> list[Any]:
        """Read all lines."""
        return list(self)

    def write(self, file_content: Any) -> None:
        """Write text or bytes."""
        data = file_content.encode() if isinstance(file_content, str) else bytes(file_content)
        if self._writer is None:
            if "r" in self.mode and "+" not in self.mode:
                raise PermissionDeniedError("File isn't open for writing")
            with tensorflow_errors():
                self._writer = _open(self.name, "ab" if "a" in self.mode else "wb")
        with tensorflow_errors():
            self._writer.write(data)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Set the position for reading."""
        if (offset is None) == (position is None):
            raise TypeError("seek() takes either an offset or a position")
        target = position if offset is None else offset
        base = {0: 0, 1: self.tell(), 2: self.size()}.get(whence)
        if base is None or target is None or base + target < 0:
            raise InvalidArgumentError(f"expected a position in the file, found {target} with whence={whence}")
        self._for_reading().seek(base + target)

    def tell(self) -> int:
        """Return the position for reading; of a file open for writing, its size so far."""
        if self.mode[0] in "wa" and "+" not in self.mode:
            if self._writer is not None:
                return self._writer.tell()
            return self.size() if "a" in self.mode and exists(self.name) else 0
        return self._for_reading().tell()

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return stat(self.name).length

    def seekable(self) -> bool:
        """Return True."""
        return True

    def flush(self) -> None:
        """Pass what was written to the operating system."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Close the file; what was written is stored."""
        reader, writer, self._reader, self._writer = self._reader, self._writer, None, None
        for file in (reader, writer):
            if file is not None:
                with tensorflow_errors():
                    file.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def _for_reading(self) -> IO[bytes]:
        self.flush()
        if self._reader is None:
            if "r" not in self.mode and "+" not in self.mode:
                raise PermissionDeniedError("File isn't open for reading")
            with tensorflow_errors():
                self._reader = _open(self.name, "rb")
        return self._reader

    def _as_result(self, data: bytes) -> Any:
        return data if "b" in self.mode else data.decode()


Open = GFile


def exists(path: Any) -> bool:
    """Return whether a file or directory exists."""
    name = _path(path)
    if is_remote(name):
        store, inner = _store(name)
        return bool(store.exists(inner))
    return os.path.exists(_local(name))


def isdir(path: Any) -> bool:
    """Return whether a directory exists."""
    name = _path(path)
    if is_remote(name):
        store, inner = _store(name)
        return bool(store.isdir(inner))
    return os.path.isdir(_local(name))


def glob(pattern: Any) -> list[str]:
    """List the files that match one or more patterns; hidden files match too, as in TensorFlow."""
    patterns = pattern if isinstance(pattern, list | tuple) else [pattern]
    found: list[str] = []
    for one in map(_path, patterns):
        if is_remote(one):
            store, inner = _store(one)
            found += [store.unstrip_protocol(name) for name in store.glob(inner)]
        else:
            found += globbing.glob(_local(one), include_hidden=True)
    return sorted(found) if len(patterns) == 1 else found


def listdir(path: Any) -> list[str]:
    """List the names in a directory."""
    name = _path(path)
    if not isdir(name):
        raise NotFoundError(f"Could not find directory {name}")
    if is_remote(name):
        store, inner = _store(name)
        return [os.path.basename(entry.rstrip("/")) for entry in store.ls(inner, detail=False)]
    return os.listdir(_local(name))


def makedirs(path: Any) -> None:
    """Create a directory and its parents; it may exist."""
    name = _path(path)
    with tensorflow_errors():
        if is_remote(name):
            store, inner = _store(name)
            store.makedirs(inner, exist_ok=True)
        else:
            os.makedirs(_local(name), exist_ok=True)


def mkdir(path: Any) -> None:
    """Create a directory."""
    name = _path(path)
    with tensorflow_errors():
        if is_remote(name):
            store, inner = _store(name)
            store.mkdir(inner, create_parents=False)
        else:
            os.mkdir(_local(name))


def remove(path: Any) -> None:
    """Remove a file."""
    name = _path(path)
    with tensorflow_errors():
        if is_remote(name):
            store, inner = _store(name)
            store.rm_file(inner)
        else:
            os.unlink(_local(name))


def rmtree(path: Any) -> None:
    """Remove a directory and its contents."""
    name = _path(path)
    with tensorflow_errors():
        if is_remote(name):
            store, inner = _store(name)
            store.rm(inner, recursive=True)
        else:
            shutil.rmtree(_local(name))


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file."""
    _check_target(dst, overwrite)
    with GFile(src, "rb") as source, GFile(dst, "wb") as target:
        shutil.copyfileobj(source, target)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Rename a file; between remote stores, copy and remove it."""
    _check_target(dst, overwrite)
    source, target = _path(src), _path(dst)
    if is_remote(source) or is_remote(target):
        copy(source, target, overwrite=True)
        remove(source)
        return
    with tensorflow_errors():
        os.replace(_local(source), _local(target))


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Iterate over the directories below one."""
    name = _path(top)
    if not is_remote(name):
        yield from os.walk(_local(name), topdown, onerror)
        return
    store, inner = _store(name)
    for folder, folders, files in store.walk(inner, topdown=topdown):
        yield store.unstrip_protocol(folder), list(folders), list(files)


def join(path: Any, *paths: Any) -> str:
    """Join parts of a path."""
    return os.path.join(_path(path), *map(_path, paths))


class FileStatistics:
    """The size and modification time of a file."""

    def __init__(self, length: int, mtime_nsec: int, is_directory: bool) -> None:
        self.length = length
        self.mtime_nsec = mtime_nsec
        self.is_directory = is_directory


def stat(path: Any) -> FileStatistics:
    """Return the size and modification time of a file; the time is 0 where a store has none."""
    name = _path(path)
    with tensorflow_errors():
        if not is_remote(name):
            info = os.stat(_local(name))
            return FileStatistics(info.st_size, info.st_mtime_ns, os.path.isdir(_local(name)))
        store, inner = _store(name)
        known = store.info(inner)
        return FileStatistics(int(known["size"] or 0), _modified(store, inner), known["type"] == "directory")


def _modified(store: Any, path: str) -> int:
    try:
        return int(store.modified(path).timestamp() * 1e9)
    except (NotImplementedError, FileNotFoundError, KeyError):
        return 0


def _check_target(path: Any, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise AlreadyExistsError(f"file already exists: {_path(path)}")


def _path(path: Any) -> str:
    if hasattr(path, "numpy"):
        path = path.numpy()
    return os.fsdecode(path)


def _local(path: str) -> str:
    return path.removeprefix("file://")


def _open(path: str, mode: str) -> IO[bytes]:
    if not is_remote(path):
        return open(_local(path), mode)
    file: IO[bytes] = _fsspec().open(path, mode).open()
    return file


def _fsspec() -> Any:
    return import_extra("fsspec", "remote", "a file at a URL")


def _store(path: str) -> tuple[Any, str]:
    store, inner = _fsspec().core.url_to_fs(path)
    return store, inner


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("io.gfile", name)
