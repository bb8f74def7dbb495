"""A progress bar on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class ProgressBar:
    """Counts the rows that were written. Thread-safe.

    Args:
        show: Whether to show it where standard error is a terminal.
        total: How many rows there will be, where that is known.
    """

    def __init__(self, show: bool, total: int | None) -> None:
        self._bar: Any = None
        self._total = total
        if show and sys.stderr is not None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("writing"), BarColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=total)

    def advance(self, rows: int) -> None:
        """Note that rows are written."""
        if self._bar is not None:
            self._bar.update(self._task, advance=rows)

    def __enter__(self) -> ProgressBar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
