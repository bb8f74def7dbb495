"""Files that are not in the page cache: verified, and read by nothing but read()."""

from __future__ import annotations

import contextlib
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor

from penstock.cli import main

_PIECE = 1 << 20


def drop(paths: list[str]) -> bool:
    """Have the system forget the files; return whether it can."""
    if not hasattr(os, "posix_fadvise"):
        return False
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def verify(paths: list[str]) -> int:
    """Run the command; return how many records are good."""
    document = io.StringIO()
    with contextlib.redirect_stdout(document):
        main(["verify", "--json", *paths], standalone_mode=False)
    found = json.loads(document.getvalue())
    assert found["problems"] == 0
    return int(found["records"])


def read(paths: list[str], threads: int) -> int:
    """Read files, one for each thread; return how many bytes there are."""
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(_read, paths))


def _read(path: str) -> int:
    buffer, size = bytearray(_PIECE), 0
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            size += count
    return size
