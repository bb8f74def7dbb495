"""Turns what a user typed into a list of files."""

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
    """List the files that ``paths`` name: files, glob patterns, directories and URLs, in the order given.

    A directory stands for the TFRecords below it, known by name, or by a first header that checks itself, in gzip
    too; files and folders whose names begin with a dot or an underscore are passed over. A pattern or a directory
    without any is an error, as is a file that does not exist. So is what cannot be read below a directory, unless
    ``unreadable`` takes it.
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
    """Whether a name stands for the files that match it; one with a bracket may also be that of a file."""
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
    """Whether a name is that of a directory, or begins those of files in a store that has none."""
    try:
        store.stat(name)
    except IsADirectoryError:
        return True
    except FileNotFoundError:
        # Object stores have no directories, only names that begin alike.
        return not store.capabilities.folders and not _GLOB.search(name) and bool(store.list(name))
    return False


def path_parts(path: str) -> list[str]:
    """Return the names that a path is made of.

    A store may spell the way to a folder in its own manner; the number of its parts is the same.
    """
    return [part for part in re.split(r"[/\\]", path) if part]


def _is_hidden(parts: list[str]) -> bool:
    """Whether a file, or a folder on the way to it, is for programs alone: what Spark did not finish, say."""
    return any(part.startswith((".", "_")) for part in parts)


def _is_records(store: FileStore, path: str, unreadable: Callable[[OSError], None] | None) -> bool:
    if has_record_extension(path):
        return True
    try:
        # A pipe would wait for its writer.
        return store.stat(path).seekable and starts_records(store.read(path, 0, _HEAD_BYTES))
    except FileNotFoundError:
        return False  # a link to nowhere
    except OSError as error:
        if unreadable is None:
            raise
        unreadable(error)
        return False
