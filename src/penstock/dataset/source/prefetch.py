"""Fetches rows ahead of the consumer, on threads; they come back in the order in which they were asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from penstock import _core
from penstock.dataset.order import Ints, Order
from penstock.dataset.source.row_source import Fetched, RowFetcher, RowSource
from penstock.errors import CorruptDataError, MalformedExampleError

# Where requests are read together: what they may take in memory, and how far apart their rows may lie in a file.
_BYTES_TOGETHER = 64 << 20
_GAP_BYTES = 4 << 10


class Prefetch(Protocol):
    """Rows on their way."""

    depth: int
    """How many requests may be on their way, so that a slow consumer holds memory still."""

    together: int
    """How many requests are read together, where it is worth while to know that many before."""

    def foresee(self, requests: list[Ints]) -> None:
        """Say which rows will be asked for next, request by request."""

    def submit(self, rows: Ints) -> None:
        """Start to fetch rows."""

    def take(self) -> Fetched:
        """Wait for the oldest request."""

    def close(self) -> None:
        """End the threads."""


def start_prefetch(source: RowSource, order: Order, size: int) -> Prefetch:
    """Open a source for reading requests of ``size`` rows ahead, in an order."""
    return NativePrefetch(source, order, size) if source.shards.local_and_plain else PooledPrefetch(source, order, size)


class NativePrefetch:
    """Fetches on native threads: each reads, checks and decodes a request while its bytes are near."""

    def __init__(self, source: RowSource, order: Order, size: int) -> None:
        self._source, self._decoder = source, source.decoder
        self._native = source.shards.open_natively()
        self.depth = source.shards.reading.threads + 1
        self.together = _requests_together(source, order, size)
        self._waiting: deque[Ints] = deque()

    def foresee(self, requests: list[Ints]) -> None:
        if self.together > 1:
            self._native.coalesce(requests, self._decoder._native if self._source.allocate is None else None)

    def submit(self, rows: Ints) -> None:
        outputs = self._decoder._outputs(len(rows), None, self._source.allocate)
        self._native.submit(rows, self._decoder._native, outputs)
        self._waiting.append(rows)

    def take(self) -> Fetched:
        rows = self._waiting.popleft()
        decoded, _ = self._native.next()
        if decoded is not None and decoded[-1] is None:
            try:
                return Fetched(self._decoder._batch(decoded, lambda row: (None, row)), None)
            except MalformedExampleError:
                pass
        # Something is wrong with one of them: the slower way finds what it is, and does what is to be done about it.
        return self._source.open().fetch(rows)

    def close(self) -> None:
        self._native.close()


def _requests_together(source: RowSource, order: Order, size: int) -> int:
    """Return how many requests have rows so near to one another that what lies between them is best read along."""
    shards, near = source.shards, _near(source, order)
    if not near:
        return 1
    frame = shards.places.nbytes / shards.rows
    most = int(_BYTES_TOGETHER / frame)
    is_dense = near <= most or near * frame <= most * (frame + _GAP_BYTES)
    return max(1, -(-min(near, most) // size)) if is_dense else 1


def _near(source: RowSource, order: Order) -> int:
    """Return from how many rows of the files those that are asked for together are drawn; 0: they come in order."""
    rows = source.shards.rows
    return min(order.reach, rows) if order.reach else rows if order.seeks else 0


class PooledPrefetch:
    """Fetches on threads of Python, which work in native calls for most of the time."""

    def __init__(self, source: RowSource, order: Order, size: int) -> None:
        # Files that are read from their start are read by one thread, in order.
        threads = source.shards.reading.threads if source.shards.seekable else 1
        self.depth = threads + 1
        self.together = _members_together(source, order, size)
        self._fetcher = source.open(order.reach)
        self._pool = ThreadPoolExecutor(threads, "penstock-fetch")
        self._foreseen: deque[list[Ints]] = deque()
        self._group: Iterator[Callable[[], Fetched]] = iter(())
        """Those requests that are read together, and were not submitted."""
        self._waiting: deque[Future[Fetched]] = deque()

    def foresee(self, requests: list[Ints]) -> None:
        if self.together > 1 and requests:
            self._foreseen.append(requests)

    def submit(self, rows: Ints) -> None:
        fetch = next(self._group, None)
        if fetch is None and self._foreseen:
            requests = self._foreseen.popleft()
            together = Together(self._fetcher, requests, self._pool)
            self._group = (partial(together.fetch, number) for number in range(len(requests)))
            fetch = next(self._group)
        self._waiting.append(self._pool.submit(fetch or partial(self._fetcher.fetch, rows)))

    def take(self) -> Fetched:
        return self._waiting.popleft().result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _members_together(source: RowSource, order: Order, size: int) -> int:
    """Return how many requests share the members of gzip files, each of which is unpacked whole for a row of it."""
    members = [index.members for index in source.shards.indexes if index.members is not None]
    near = _near(source, order)
    if not near or not members or not source.shards.seekable:
        return 1
    record = sum(int(found.stream_offset[-1]) for found in members) / max(1, source.shards.rows)
    return max(1, -(-min(near, int(_BYTES_TOGETHER / max(1, record))) // size))


class Together:
    """Reads the records of requests ahead, in the order of the files, on threads. Nothing else is kept of the files.

    Records are copied natively: out of each member as it is inflated, and out of all of them for each request.
    """

    def __init__(self, fetcher: RowFetcher, requests: list[Ints], pool: Executor) -> None:
        self._fetcher, self._requests = fetcher, requests
        rows, places = np.unique(np.concatenate(requests), return_inverse=True)
        self._places = np.split(places, np.cumsum([len(request) for request in requests[:-1]]))
        """Of the rows of each request, among those that are read."""
        # Before what asks for them, so that no thread waits for one that waits for it.
        self._parts = [pool.submit(fetcher.copy_once, part) for part in fetcher.parts(rows)]

    @cached_property
    def _records(self) -> _core.RecordPool:
        return _core.RecordPool([part.result() for part in self._parts])

    def fetch(self, request: int) -> Fetched:
        """Return the rows of a request, by its number, decoded."""
        try:
            batch = self._fetcher.decode([self._records.take(self._places[request])])
        except (CorruptDataError, MalformedExampleError, OSError):
            # Which row it is, and what is to be done about it, is found by reading the rows of this request alone.
            return self._fetcher.fetch(self._requests[request])
        return Fetched(batch, None)
