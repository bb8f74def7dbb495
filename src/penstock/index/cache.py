"""Stored index files: in the user's cache folder, named after the content, or in sidecar files next to the data."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from penstock.compression.restart_points import most_window_bytes
from penstock.errors import IndexFileError
from penstock.index.file_format import from_bytes, to_bytes
from penstock.index.file_identity import Identity
from penstock.index.shard_index import ShardIndex
from penstock.storage import is_remote, read_whole, split_path, write_whole


def cache_folder() -> str:
    """Return the cache folder of this user: ``PENSTOCK_CACHE``, or the default of the platform."""
    chosen = os.environ.get("PENSTOCK_CACHE")
    if chosen:
        return chosen
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        root = os.path.join(home, "Library", "Caches")
    else:
        root = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(root, "penstock")


def path_in_cache(identity: Identity) -> str:
    """Return the path in the cache folder of the index of this data."""
    return os.path.join(cache_folder(), f"{identity.name}.index")


def sidecar_path(path: str) -> str:
    """Return the path of the sidecar index of a file: hidden, so that patterns for the data do not match it."""
    folder, name = split_path(path)
    return f"{folder}.{name}.index"


def read_index(path: str, identity: Identity) -> ShardIndex | None:
    """Read an index file; return None if there is none."""
    # A file that is larger than its data, and the windows of its restart points, is not an index.
    most = identity.size + most_window_bytes(identity.size) + (64 << 10)
    try:
        data = read_whole(path, most)
    except OSError:
        return None
    try:
        if len(data) > most:
            raise IndexFileError(f"not a record index: larger than {most} bytes")
        return from_bytes(data, identity)
    except IndexFileError as error:
        raise type(error)(f"{path}: {error}") from None


def write_index(path: str, index: ShardIndex) -> None:
    """Write an index file: whole, or not at all."""
    if not is_remote(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    # Windows of restart points are user data.
    write_whole(path, to_bytes(index), private=index.restarts is not None)


# Removing an index is safe: it is built again. Files with other names are never removed.
_NAME = r"[0-9a-f]{32}\.(index|steps|statistics)"
_OURS = re.compile(rf"{_NAME}|\.{_NAME}\.[0-9a-f]{{8}}\.partial")
_DAY = 24 * 60 * 60
_LONGEST_UNUSED = 90 * _DAY
_LONGEST_WRITTEN = _DAY  # a writer that takes longer was killed
_MOST_BYTES = 1 << 30


def mark_used(path: str) -> None:
    """Record that an index is in use: its modification time is that of its last use, to a day."""
    with suppress(OSError):
        if time.time() - os.stat(path).st_mtime > _DAY:
            os.utime(path)


@cache
def tidy_once(folder: str) -> None:
    """Remove unused indexes from the cache folder, oldest first; once per process is enough.

    Other processes may use or tidy the folder at the same time: a missing file counts as removed, and an open one can
    still be read to its end, or on Windows is not removed.
    """
    now, left = time.time(), _MOST_BYTES
    with suppress(OSError):
        for file in sorted(_files(folder), key=lambda file: file.stat().st_mtime, reverse=True):
            found = file.stat()
            # The numbers in a step index may take gigabytes by themselves, and its data take as much time to read.
            left -= 0 if file.name.endswith(".steps") else found.st_size
            longest = _LONGEST_WRITTEN if file.name.endswith(".partial") else _LONGEST_UNUSED
            if now - found.st_mtime > longest or left < 0:
                with suppress(OSError):
                    os.remove(file)


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from (entry for entry in entries if _OURS.fullmatch(entry.name) and entry.is_file())
