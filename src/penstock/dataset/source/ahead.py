"""Fetches rows ahead of the consumer, on threads; they come back in the order in which they were asked for."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from penstock.dataset.order import Ints
from penstock.dataset.source.source import Fetched, Source
from penstock.errors import MalformedExampleError


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
    return NativeAhead(source) if source.shards.local_and_plain else PooledAhead(source, reach)


class NativeAhead:
    """Fetches on native threads: each reads, checks and decodes a request while its bytes are near."""

    def __init__(self, source: Source) -> None:
        self._source, self._decoder = source, source.decoder
        self._native = source.shards.open_natively()
        self.depth = source.shards.reading.threads + 1
        self._waiting: deque[Ints] = deque()

    def submit(self, rows: Ints) -> None:
        allocate = self._source.allocate
        outputs = [] if allocate is None else self._decoder.outputs(len(rows), {}, allocate)
        self._native.submit(rows, self._decoder.native, outputs)
        self._waiting.append(rows)

    def take(self) -> Fetched:
        rows = self._waiting.popleft()
        decoded, _ = self._native.next()
        if decoded is not None and decoded[-1] is None:
            try:
                return Fetched(self._decoder.batch_of(decoded, lambda row: (None, row)), None)
            except MalformedExampleError:
                pass
        # Something is wrong with one of them: the slower way finds what it is, and does what is to be done about it.
        return self._source.open().fetch(rows)

    def close(self) -> None:
        self._native.close()


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
