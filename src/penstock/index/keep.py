"""Where index files are kept: in the user's cache folder, under a name that tells the data, or beside the data."""

from __future__ import annotations

import os
import sys

from penstock.errors import IndexFileError
from penstock.files import read_whole, split_path, write_whole
from penstock.index.file_format import from_bytes, to_bytes
from penstock.index.identity import Identity
from penstock.index.shard_index import ShardIndex


def cache_folder() -> str:
    """The folder of this user's indexes: ``PENSTOCK_CACHE``, or where the platform keeps such things."""
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
    """Where the index of this data is kept, wherever the data lies."""
    return os.path.join(cache_folder(), f"{identity.name}.index")


def path_beside(path: str) -> str:
    """Where an index beside the data is: hidden, so that patterns that find the data do not find it."""
    folder, name = split_path(path)
    return f"{folder}.{name}.index"


def read_index(path: str, identity: Identity) -> ShardIndex | None:
    """Read an index file, or answer None where there is none."""
    # An index that is larger than its data is none.
    most = identity.size + (64 << 10)
    try:
        data = read_whole(path, most)
    except OSError:
        return None
    try:
        if len(data) > most:
            raise IndexFileError(f"no index: larger than {most} bytes")
        return from_bytes(data, identity)
    except IndexFileError as error:
        raise type(error)(f"{path}: {error}") from None


def write_index(path: str, index: ShardIndex) -> None:
    """Write an index file: whole, or not at all."""
    if "://" not in path:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    write_whole(path, to_bytes(index))
