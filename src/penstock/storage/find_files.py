"""Expand files, patterns, folders and URLs to a list of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from penstock.compression.detect import starts_records
from penstock.storage.paths import StrPath, locate
from penstock.storage.shard_names import has_record_extension
from penstock.storage.store import FileStore

_GLOB = re.compile(r"[*?\[]")
_HEAD_BYTES = 4096


def find_files(paths: Iterable[StrPath], *, unreadable: Callable[[OSError], None] | None = None) -> list[str]:
    """Return the files that ``paths`` stand for: files, glob patterns, directories and URLs, in order.

    A directory stands for the TFRecord files below it, recognized by their extension or by a valid first header, also
    in gzip. Files and folders whose names begin with a dot or an underscore are skipped.

    Args:
        paths: What the user named.
        unreadable: Called with the error for each file or folder below a directory that cannot be read.

    Raises:
        OSError: A file does not exist, a pattern or directory has no files, or, without ``unreadable``, something
            below a directory cannot be read.
    """
    files: list[str] = []
    for path in paths:
        store, name = locate(path)
        if is_pattern(store, name):
            found = [entry for entry in store.list(name) if not _is_hidden(path_parts(entry)[-1:])]
            if not found:
                raise FileNotFoundError(2, "No file matches the pattern", name)
            files += found
        elif is_folder(store, name):
            above = len(path_parts(name))
            shown = (entry for entry in store.list(name, unreadable) if not _is_hidden(path_parts(entry)[above:]))
            found = [entry for entry in shown if _is_records(store, entry, unreadable)]
            if not found:
                raise FileNotFoundError(2, "No TFRecord file in the directory", name)
            files += found
        else:
            store.stat(name)
            files.append(name)
    return files


def is_pattern(store: FileStore, name: str) -> bool:
    """Return whether a name is a glob pattern; the name of an existing file may contain a bracket."""
    return bool(_GLOB.search(name)) and not _exists(store, name)


def _exists(store: FileStore, name: str) -> bool:
    try:
        store.stat(name)
    except IsADirectoryError:
        return True
    except OSError:
        return False
    return True


def is_folder(store: FileStore, name: str) -> bool:
    """Return whether a name is a directory, or in a store without directories a prefix of names."""
    try:
        store.stat(name)
    except IsADirectoryError:
        return True
    except FileNotFoundError:
        # Object stores have no directories, only names with a common prefix.
        return not store.capabilities.folders and not _GLOB.search(name) and bool(store.list(name))
    return False


def path_parts(path: str) -> list[str]:
    """Return the parts of a path. A store may spell a folder differently; the number of parts is the same."""
    return [part for part in re.split(r"[/\\]", path) if part]


def _is_hidden(parts: list[str]) -> bool:
    """Return whether a file, or a folder above it, is hidden, such as the temporary files of Spark."""
    return any(part.startswith((".", "_")) for part in parts)


def _is_records(store: FileStore, path: str, unreadable: Callable[[OSError], None] | None) -> bool:
    if has_record_extension(path):
        return True
    try:
        # Opening a pipe would wait for its writer.
        return store.stat(path).seekable and starts_records(store.read(path, 0, _HEAD_BYTES))
    except FileNotFoundError:
        return False  # a broken link
    except OSError as error:
        if unreadable is None:
            raise
        unreadable(error)
        return False
