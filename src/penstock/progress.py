"""A progress bar on standard error, if that is a terminal."""

from __future__ import annotations

import sys
import threading
import time
from datetime import timedelta
from types import TracebackType
from typing import Any


class ProgressBar:
    """Shows the progress of some work. Thread-safe.

    Args:
        title: Its title, in printable characters.
        total: The amount of work, if that is known.
        unit: What is counted, such as ``"rows"``; ``"bytes"`` are shown as sizes.
        show: Whether to show it at all.
        after: Seconds before it appears: a bar that disappears at once would flicker.
        stays: Whether it stays on the terminal in the end.
    """

    def __init__(
        self, title: str, total: int | None, unit: str, *, show: bool = True, after: float = 0.0, stays: bool = False
    ) -> None:
        self._title, self._total, self._unit, self._stays = title, total, unit, stays
        self._shown_from = time.monotonic() + after if show and on_terminal() else float("inf")
        self._lock = threading.Lock()
        self._done = 0.0
        self._bar: int | None = None

    def advance(self, count: float, note: str = "") -> None:
        """Add to the work that is done; the note is shown after the figures."""
        with self._lock:
            self._show(self._done + count, note)

    def reach(self, done: float, note: str = "") -> None:
        """Set the work that is done."""
        with self._lock:
            self._show(done, note)

    def close(self) -> None:
        """Remove the bar, or leave it as it is."""
        with self._lock:
            self._shown_from = float("inf")
            if self._bar is not None:
                _DISPLAY.remove(self._bar, stays=self._stays)
                self._bar = None

    def __enter__(self) -> ProgressBar:
        self.reach(0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _show(self, done: float, note: str) -> None:
        self._done = done
        if time.monotonic() < self._shown_from:
            return
        if self._bar is None:
            self._bar = _DISPLAY.add(self._title, self._total, self._unit)
        _DISPLAY.update(self._bar, done, note)


def on_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


class _Display:
    """All bars that are shown now: a terminal has one display."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bars: Any = None
        self._open = 0

    def add(self, title: str, total: int | None, unit: str) -> int:
        with self._lock:
            if self._bars is None:
                self._bars = _open_display()
                self._bars.start()
            self._open += 1
            return int(self._bars.add_task(title, total=total, unit=unit, note=""))

    def update(self, bar: int, done: float, note: str) -> None:
        self._bars.update(bar, completed=done, note=note)

    def remove(self, bar: int, *, stays: bool) -> None:
        with self._lock:
            if stays:
                last = [task for task in self._bars.tasks if task.id == bar]
                self._bars.console.print(self._bars.make_tasks_table(last))
            self._bars.remove_task(bar)
            self._open -= 1
            if not self._open:
                self._bars.stop()
                self._bars = None


_DISPLAY = _Display()


def _open_display() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
    from rich.text import Text

    class Figures(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(_figures(task))

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    title = TextColumn("{task.description}", markup=False)
    return Progress(title, BarColumn(), Figures(), console=console, transient=True)


def _figures(task: Any) -> str:
    """Return the figures of a bar: done, total, time and note."""
    unit = task.fields["unit"]
    amount = _amount(task.completed, unit)
    if task.total is not None:
        amount = f"{task.percentage:.0f}%  {amount} of {_amount(task.total, unit)}"
    words = "" if unit == "bytes" else unit
    left = task.time_remaining
    seconds = int(left if left else task.elapsed or 0)
    times = f"{timedelta(seconds=seconds)} left" if left else str(timedelta(seconds=seconds))
    return "  ".join(filter(None, [f"{amount} {words}".rstrip(), times, task.fields["note"]]))


def _amount(count: float, unit: str) -> str:
    if unit != "bytes":
        return f"{int(count):,}"
    from rich.filesize import decimal

    return decimal(int(count))
