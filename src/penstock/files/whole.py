"""Small files, read and written in one piece."""

from __future__ import annotations

from contextlib import closing

from penstock.files.locate import StrPath, locate


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
