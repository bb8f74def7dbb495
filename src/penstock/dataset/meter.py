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
        """Records that were passed over, by cause."""
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

    def skip(self, error: PenstockError) -> None:
        """Note a record that is passed over."""
        with self._lock:
            self.skipped[getattr(error, "kind", "schema")] += 1
            if len(self.errors) < 100:
                self.errors.append(error)
