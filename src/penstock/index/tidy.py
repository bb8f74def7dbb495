"""Keeps the cache of indexes small: what nobody has used for long goes, and so does what is too much."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

# Nobody misses an index that goes: it is built again. Other files in the folder are not ours to remove.
_OURS = re.compile(r"[0-9a-f]{32}\.index|\.[0-9a-f]{32}\.index\.[0-9a-f]{8}\.partial")

_DAY = 24 * 60 * 60
_LONGEST_UNUSED = 90 * _DAY
_LONGEST_WRITTEN = _DAY  # whoever has not finished an index by then was killed
_MOST_BYTES = 1 << 30


def mark_used(path: str) -> None:
    """Note that an index is in use: its time is that of its last use, to a day."""
    with suppress(OSError):
        if time.time() - os.stat(path).st_mtime > _DAY:
            os.utime(path)


@cache
def tidy_once(folder: str) -> None:
    """Remove what is unused from a folder of indexes, oldest first; once in a process is enough.

    Other processes may use the folder, or tidy it, at the same time: a file that is gone is as good as removed, and one
    that is open is read to its end, or on Windows not removed.
    """
    now, left = time.time(), _MOST_BYTES
    with suppress(OSError):
        for file in sorted(_files(folder), key=lambda file: file.stat().st_mtime, reverse=True):
            found = file.stat()
            left -= found.st_size
            longest = _LONGEST_WRITTEN if file.name.endswith(".partial") else _LONGEST_UNUSED
            if now - found.st_mtime > longest or left < 0:
                with suppress(OSError):
                    os.remove(file)


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from (entry for entry in entries if _OURS.fullmatch(entry.name) and entry.is_file())
