"""Tells that an index is being built: in the log, and where it takes long, by a bar on a terminal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from penstock.files import split_path
from penstock.progress_bar import ProgressBar

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with the bytes that are done and those that there are."""

_LOG = logging.getLogger("penstock.index")

_SHOWN_AFTER_SECONDS = 1.0


@contextmanager
def reporting(path: str, size: int, progress: Progress | bool) -> Iterator[Callable[[int], None]]:
    """Answer what is to be called with the bytes that are done; ``progress`` is as :func:`open_index` says."""
    _LOG.info("building the index of %s (%.2f GB)", path, size / 1e9)
    if callable(progress):
        tell = progress
        yield lambda done: tell(done, size)
        return
    _, name = split_path(path)
    # A name may hold what a terminal obeys.
    title = f"building the index of {name if name.isprintable() else ascii(name)}"
    with ProgressBar(title, size, "bytes", show=progress, after=_SHOWN_AFTER_SECONDS) as bar:
        yield bar.reach
