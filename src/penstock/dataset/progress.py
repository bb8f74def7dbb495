"""Meter: what an iteration has done. show_progress(): a bar, or lines in the log, with where the time goes."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias, TypeVar, get_args

from penstock.errors import PenstockError
from penstock.progress import ProgressBar, on_terminal

Work: TypeAlias = Literal["reading", "function", "waiting"]


class Meter:
    """Counts elements, seconds by kind of work, and skipped records of an iteration. Thread-safe."""

    def __init__(self) -> None:
        self.elements = 0
        self.seconds: dict[Work, float] = dict.fromkeys(get_args(Work), 0.0)
        self.skipped: Counter[str] = Counter()
        """How much was skipped, by cause: records, and damaged places that held an unknown number of records."""
        self.damaged_places = 0
        """The number of skipped damaged places."""
        self.errors: list[PenstockError] = []
        """The first errors."""
        self._lock = threading.Lock()

    @contextmanager
    def timed(self, work: Work) -> Iterator[None]:
        """Measure the block and add its time."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(work, time.perf_counter() - start)

    def add(self, work: Work, seconds: float) -> None:
        """Add measured time."""
        with self._lock:
            self.seconds[work] += seconds

    def skip(self, error: PenstockError, records: int | None = 1) -> None:
        """Count skipped records; None counts a damaged place with an unknown number of records."""
        with self._lock:
            self.skipped[getattr(error, "kind", "schema")] += 1 if records is None else records
            self.damaged_places += records is None
            if len(self.errors) < 100:
                self.errors.append(error)

    def skip_report(self) -> str:
        """Return what was skipped, and why; empty where nothing was."""
        if not self.skipped:
            return ""
        causes = ", ".join(f"{count:,} {kind}" for kind, count in self.skipped.most_common())
        counted = (self.skipped.total() - self.damaged_places, "record"), (self.damaged_places, "damaged place")
        what = " and ".join(f"{count:,} {noun}{'s' * (count > 1)}" for count, noun in counted if count)
        lost = f", with all records in {'it' if self.damaged_places == 1 else 'them'}," if self.damaged_places else ""
        were = "was" if self.skipped.total() == 1 else "were"
        return f"{what}{lost} {were} skipped ({causes}); the first: {self.errors[0]}"


T = TypeVar("T")
_logger = logging.getLogger("penstock")
_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_BETWEEN_UPDATES = 0.1


def show_progress(elements: Iterator[T], meter: Meter, *, total: int | None, name: str = "") -> Iterator[T]:
    """Iterate elements with a bar on a terminal, or a line every 30 seconds to the logger ``penstock``.

    Args:
        meter: The meter of the iteration; the time of the loop's own code is added to it.
        total: The number of elements, where it is known.
        name: A title for the iteration.
    """
    display = _Bar(name, total) if on_terminal() else _Lines(name, total)
    begin = now = updated = time.perf_counter()
    count = 0
    with display:
        for count, element in enumerate(elements, 1):
            given = time.perf_counter()
            yield element
            now = time.perf_counter()
            meter.add("waiting", now - given)
            if now - updated >= display.interval:
                updated = now
                display.show(count, _breakdown(meter, now - begin), now - begin)
        now = time.perf_counter()
        display.show(count, _breakdown(meter, now - begin), now - begin)


def _breakdown(meter: Meter, elapsed: float) -> str:
    """Return where time goes, the largest share first. Threads run side by side, so shares can add up to over 100%."""
    shares = {_WORDS[work]: seconds / max(elapsed, 1e-9) for work, seconds in meter.seconds.items() if seconds}
    return ", ".join(f"{word} {share:.0%}" for word, share in sorted(shares.items(), key=lambda item: -item[1]))


_WORDS = {"reading": "reading", "function": "functions", "waiting": "your code"}


class _Lines:
    """A line in the log at intervals, and one at the end."""

    interval = _SECONDS_BETWEEN_LINES

    def __init__(self, name: str, total: int | None) -> None:
        self._name, self._total = name, total

    def show(self, count: int, breakdown: str, elapsed: float) -> None:
        share = f" ({count / self._total:.0%})" if self._total else ""
        rate = count / max(elapsed, 1e-9)
        _logger.info("%s%d%s, %.1f/s: %s", f"{self._name}: " if self._name else "", count, share, rate, breakdown)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class _Bar:
    """A bar on standard error."""

    interval = _SECONDS_BETWEEN_UPDATES

    def __init__(self, name: str, total: int | None) -> None:
        self._bar = ProgressBar(name, total, "", stays=True)

    def show(self, count: int, breakdown: str, elapsed: float) -> None:
        self._bar.reach(count, f"{count / max(elapsed, 1e-9):,.1f}/s  {breakdown}")

    def __enter__(self) -> None:
        self._bar.__enter__()

    def __exit__(self, *error: object) -> None:
        self._bar.close()
