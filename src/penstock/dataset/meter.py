"""Where the time of a pass goes."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias, get_args

from penstock.errors import PenstockError

Work: TypeAlias = Literal["reading", "function", "waiting"]


class Meter:
    """Counts what a pass has done: elements, seconds by kind of work, and what was passed over. Thread-safe."""

    def __init__(self) -> None:
        self.elements = 0
        self.seconds: dict[Work, float] = dict.fromkeys(get_args(Work), 0.0)
        self.skipped: Counter[str] = Counter()
        """What was passed over, by cause: records, and damaged places of which nobody knows how many they held."""
        self.places = 0
        """How many of them are such places."""
        self.errors: list[PenstockError] = []
        """The first of them."""
        self._lock = threading.Lock()

    @contextmanager
    def timed(self, work: Work) -> Iterator[None]:
        """Add the time that the block takes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(work, time.perf_counter() - start)

    def add(self, work: Work, seconds: float) -> None:
        """Add time that was measured."""
        with self._lock:
            self.seconds[work] += seconds

    def skip(self, error: PenstockError, records: int | None = 1) -> None:
        """Note what is passed over: some records, or None where nobody can count them, a damaged place."""
        with self._lock:
            self.skipped[getattr(error, "kind", "schema")] += 1 if records is None else records
            self.places += records is None
            if len(self.errors) < 100:
                self.errors.append(error)

    def passed_over(self) -> str:
        """Say what was passed over, and why; nothing, where nothing was."""
        if not self.skipped:
            return ""
        causes = ", ".join(f"{count:,} {kind}" for kind, count in self.skipped.most_common())
        counted = (self.skipped.total() - self.places, "record"), (self.places, "damaged place")
        what = " and ".join(f"{count:,} {noun}{'s' * (count > 1)}" for count, noun in counted if count)
        lost = f", with all records in {'it' if self.places == 1 else 'them'}," if self.places else ""
        were = "was" if self.skipped.total() == 1 else "were"
        return f"{what}{lost} {were} passed over ({causes}); the first: {self.errors[0]}"
