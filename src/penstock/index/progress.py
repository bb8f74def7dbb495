"""Tells that an index is being built: in the log, and where it takes long, by a bar on a terminal."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from penstock.files import split_path

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with the bytes that are done and those that there are."""

_LOG = logging.getLogger("penstock.index")

# A bar that is gone at once is a flicker.
_SHOWN_AFTER_SECONDS = 1.0


class _Bars:
    """The bars of all files that are indexed at this moment: a terminal shows one display at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._display: Any = None
        self._open = 0

    def add(self, title: str, total: int) -> int:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        with self._lock:
            if self._display is None:
                columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
                console = Console(stderr=True, markup=False, highlight=False, emoji=False)
                self._display = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
                self._display.start()
            self._open += 1
            return int(self._display.add_task(title, total=total))

    def update(self, bar: int, done: int) -> None:
        self._display.update(bar, completed=done)

    def remove(self, bar: int) -> None:
        with self._lock:
            self._display.remove_task(bar)
            self._open -= 1
            if not self._open:
                self._display.stop()
                self._display = None


_BARS = _Bars()


@contextmanager
def reporting(path: str, size: int, progress: Progress | bool) -> Iterator[Callable[[int], None]]:
    """Answer what is to be called with the bytes that are done; ``progress`` is as :func:`open_index` says."""
    _LOG.info("building the index of %s (%.2f GB)", path, size / 1e9)
    if callable(progress):
        tell = progress
        yield lambda done: tell(done, size)
        return
    terminal = progress and sys.stderr is not None and sys.stderr.isatty()
    begin = time.monotonic()
    bar: int | None = None

    def report(done: int) -> None:
        nonlocal bar
        if bar is None and terminal and time.monotonic() - begin > _SHOWN_AFTER_SECONDS:
            _, name = split_path(path)
            # A name may hold what a terminal obeys.
            bar = _BARS.add(f"building the index of {name if name.isprintable() else ascii(name)}", size)
        if bar is not None:
            _BARS.update(bar, done)

    try:
        yield report
    finally:
        if bar is not None:
            _BARS.remove(bar)
