"""Choose the store for a path; split paths; read and write whole files."""

from __future__ import annotations

import os
import re
from contextlib import closing
from typing import TypeAlias

from penstock.storage.local import LocalFiles, LocalUpload, StandardStreams
from penstock.storage.store import FileStore

StrPath: TypeAlias = str | os.PathLike[str]


def locate(path: StrPath) -> tuple[FileStore, str]:
    """Return the store that holds ``path``, and the path as that store names it."""
    name = path_text(path)
    if name == "-":
        return StandardStreams(), name
    if name.startswith("file://"):
        return LocalFiles(), _path_in(name)
    if "://" in name:
        # Imported here: fsspec is an extra, and slow to import.
        from penstock.storage.http import HttpFiles
        from penstock.storage.remote import RemoteFiles

        return HttpFiles() if name.startswith(("http://", "https://")) else RemoteFiles(), name
    return LocalFiles(), name


def is_remote(path: StrPath) -> bool:
    """Return whether a path names a file on the network."""
    return locate(path)[0].capabilities.latency == "network"


def split_path(path: str) -> tuple[str, str]:
    """Split a path into its folder, with the separator, and the name of the file.

    A URL has slashes on every system, which ``os.path`` does not know.
    """
    separators = "/\\" if os.name == "nt" and "://" not in path else "/"
    cut = max(map(path.rfind, separators)) + 1
    return path[:cut], path[cut:]


def _path_in(url: str) -> str:
    """Return the path that a ``file://`` URL names, whatever bytes it is made of."""
    # Imported here: few paths are file URLs.
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(os.fsencode(url.removeprefix("file://").removeprefix("localhost"))))


def path_text(path: StrPath) -> str:
    """Return a path, or a URL, as text."""
    try:
        return os.fsdecode(path)
    except TypeError:
        # Remote paths of universal_pathlib are not os.PathLike, but their text is the URL.
        if hasattr(path, "protocol"):
            return str(path)
        raise TypeError(f"a path is a str or an os.PathLike, not {type(path).__name__}") from None


def make_folder_of(path: str) -> None:
    """Create the folder of a local file."""
    if is_remote(path):
        return
    first = re.split(r"[/\\]", path)[0]
    if first != path and first.startswith("~") and not os.path.isdir(first):
        # A shell expands the name: to remove such a folder there would remove a home directory.
        raise ValueError(
            f"{path}: no folder named {first} is created; expand it first, with os.path.expanduser or a shell"
        )
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)


def read_whole(path: StrPath, most: int) -> bytes:
    """Read a file; if it is longer than ``most`` bytes, return only a little more than these."""
    store, name = locate(path)
    data = bytearray()
    with closing(store.stream(name)) as pieces:
        for piece in pieces:
            data += piece
            if len(data) > most:
                break
    return bytes(data)


def write_whole(path: StrPath, data: bytes, *, sync: bool = False, private: bool = False) -> None:
    """Write a file atomically. With ``sync``, it is on the disk when this returns.

    A ``private`` file of this machine can be read by its owner alone.
    """
    store, name = locate(path)
    upload = store.put(name, atomic=True)
    try:
        if private and isinstance(upload, LocalUpload):
            upload.make_private()
        upload.write(data)
        upload.commit(sync=sync)
    except BaseException:
        if (left := upload.abort()) is not None and left != name:
            store.remove(left)
        raise
