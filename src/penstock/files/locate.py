"""Picks the store for a path."""

from __future__ import annotations

import os
from typing import TypeAlias

from penstock.files.local import LocalFiles
from penstock.files.protocol import FileStore
from penstock.files.standard import StandardStreams

StrPath: TypeAlias = str | os.PathLike[str]


def locate(path: StrPath) -> tuple[FileStore, str]:
    """Answer the store that holds ``path``, and the path as that store names it."""
    name = path_text(path)
    if name == "-":
        return StandardStreams(), name
    if name.startswith("file://"):
        return LocalFiles(), _path_in(name)
    if "://" in name:
        # Imported here: fsspec is an extra, and slow to import.
        from penstock.files.http import HttpFiles
        from penstock.files.remote import RemoteFiles

        return HttpFiles() if name.startswith(("http://", "https://")) else RemoteFiles(), name
    return LocalFiles(), name


def split_path(path: str) -> tuple[str, str]:
    """Cut a path before the name of its file: the folder with its separator, so that the two joined are the path.

    A URL has slashes on every system, which ``os.path`` does not know.
    """
    separators = "/\\" if os.name == "nt" and "://" not in path else "/"
    cut = max(map(path.rfind, separators)) + 1
    return path[:cut], path[cut:]


def _path_in(url: str) -> str:
    """Answer the path that a ``file://`` URL names, whatever bytes it is made of."""
    # Imported here: few write paths as URLs.
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(os.fsencode(url.removeprefix("file://").removeprefix("localhost"))))


def path_text(path: StrPath) -> str:
    """Answer a path, or a URL, as text."""
    try:
        return os.fsdecode(path)
    except TypeError:
        # universal_pathlib's remote paths are no os.PathLike, but print as URLs.
        if hasattr(path, "protocol"):
            return str(path)
        raise TypeError(f"a path is a str or an os.PathLike, not {type(path).__name__}") from None
