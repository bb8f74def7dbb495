"""Small files, read and written in one piece, and the folders that files are written to."""

from __future__ import annotations

import os
import re
from contextlib import closing

from penstock.files.locate import StrPath, locate


def make_folder_of(path: str) -> None:
    """Make the folder that a local file is written to."""
    if "://" in path:
        return
    first = re.split(r"[/\\]", path)[0]
    if first != path and first.startswith("~") and not os.path.isdir(first):
        # Whoever removes a folder of that name, as a shell understands it, loses another one.
        raise ValueError(f"{path}: no folder {first} is made; os.path.expanduser, or a shell, tells whose home it is")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)


def read_whole(path: StrPath, most: int) -> bytes:
    """Read a file; of one that is longer than ``most`` bytes, just enough to tell that it is."""
    store, name = locate(path)
    data = bytearray()
    with closing(store.stream(name)) as pieces:
        for piece in pieces:
            data += piece
            if len(data) > most:
                break
    return bytes(data)


def write_whole(path: StrPath, data: bytes, *, sync: bool = False) -> None:
    """Write a file: whole, or not at all. With ``sync``, it is on the disk when this returns."""
    store, name = locate(path)
    upload = store.put(name, atomic=True)
    try:
        upload.write(data)
        upload.commit(sync=sync)
    except BaseException:
        if (left := upload.abort()) is not None and left != name:
            store.remove(left)
        raise
