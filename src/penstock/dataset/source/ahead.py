"""Fetches rows ahead of the consumer, on threads; they come back in the order in which they were asked for."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from penstock.dataset.order import Ints
from penstock.dataset.source.source import Fetched, Source


class Ahead(Protocol):
    """Rows on their way."""

    depth: int
    """How many requests may be on their way, so that a slow consumer holds memory still."""

    def submit(self, rows: Ints) -> None:
        """Start to fetch rows."""

    def take(self) -> Fetched:
        """Wait for the oldest request."""

    def close(self) -> None:
        """End the threads."""


def read_ahead(source: Source, reach: int) -> Ahead:
    """Open a source for reading ahead; ``reach`` is how far apart rows in a file may be that are asked for together."""
    return PooledAhead(source, reach)


class PooledAhead:
    """Fetches on threads of Python, which work in native calls for most of the time."""

    def __init__(self, source: Source, reach: int) -> None:
        # Files that are read from their start are read by one thread, in order.
        threads = source.shards.reading.threads if source.shards.seekable else 1
        self.depth = threads + 1
        self._fetcher = source.open(reach)
        self._pool = ThreadPoolExecutor(threads, "penstock-fetch")
        self._waiting: deque[Future[Fetched]] = deque()

    def submit(self, rows: Ints) -> None:
        self._waiting.append(self._pool.submit(self._fetcher.fetch, rows))

    def take(self) -> Fetched:
        return self._waiting.popleft().result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
