"""Prefetches rows on threads and returns them in the order of the requests; nearby requests are coalesced."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from penstock import _core
from penstock.dataset.order import Ints, Order, RowKeys
from penstock.dataset.source.row_source import FetchResult, RowFetcher, RowSource
from penstock.errors import CorruptDataError, MalformedExampleError

# Limits of coalesced requests: their bytes in memory, and the mean gap between their rows in a file.
_COALESCED_BYTES = 64 << 20
_GAP_BYTES = 4 << 10
# Parts of compressed files to inflate at once, at least; those at the ends of a group are inflated twice.
_PARTS_AT_ONCE = 16


class Prefetch(Protocol):
    """A queue of requests for rows."""

    depth: int
    """How many requests to submit before taking a result; bounds memory where the consumer is slow."""

    lookahead: int
    """How many requests to announce at a time, so that they can be coalesced; 1 if there is nothing to gain."""

    def announce(self, requests: list[Ints]) -> None:
        """Announce requests that will be submitted next, in order."""

    def submit(self, keys: RowKeys) -> None:
        """Start fetching rows."""

    def take(self) -> FetchResult:
        """Wait for the oldest request and return its result."""

    def close(self) -> None:
        """Stop the threads."""


def start_prefetch(source: RowSource, order: Order, size: int) -> Prefetch:
    """Open a source for requests of ``size`` rows each, in an order."""
    return NativePrefetch(source, order, size) if source.shards.local_and_plain else PooledPrefetch(source, order, size)


class NativePrefetch:
    """Prefetches on native threads: each reads, checks and decodes a whole request while its bytes are in cache."""

    def __init__(self, source: RowSource, order: Order, size: int) -> None:
        self._source, self._decoder = source, source.decoder
        self._native = source.shards.open_native_fetcher()
        self.depth = source.shards.options.thread_count + 1
        self.lookahead = _lookahead_in_plain_files(source, order, size)
        self._waiting: deque[Ints] = deque()

    def announce(self, requests: list[Ints]) -> None:
        if self.lookahead > 1:
            self._native.coalesce(requests, self._decoder._native if self._source.allocate is None else None)

    def submit(self, keys: RowKeys) -> None:
        rows = keys.rows
        outputs = self._decoder._outputs(len(rows), None, self._source.allocate)
        self._native.submit(rows, self._decoder._native, outputs)
        self._waiting.append(rows)

    def take(self) -> FetchResult:
        rows = self._waiting.popleft()
        decoded, _ = self._native.next()
        if decoded is not None and decoded.fault is None:
            try:
                return FetchResult(self._decoder._batch(decoded, lambda row: (None, row)), None)
            except MalformedExampleError:
                pass
        # A row is damaged or malformed: the slower path finds out which one, and applies the error policy.
        return self._source.open().fetch(rows)

    def close(self) -> None:
        self._native.close()


def _lookahead_in_plain_files(source: RowSource, order: Order, size: int) -> int:
    """Return how many requests to coalesce: their rows are so dense that reading the gaps costs less than seeking."""
    shards, window = source.shards, _window_rows(source, order)
    if not window:
        return 1
    frame = shards.locations.nbytes / shards.rows
    limit = int(_COALESCED_BYTES / frame)
    is_dense = window <= limit or window * frame <= limit * (frame + _GAP_BYTES)
    return max(1, -(-min(window, limit) // size)) if is_dense else 1


def _window_rows(source: RowSource, order: Order) -> int:
    """Return the size of the row range that nearby requests are drawn from; 0 if rows come in file order."""
    rows = source.shards.rows
    return min(order.reach, rows) if order.reach else rows if order.seeks else 0


class PooledPrefetch:
    """Prefetches on Python threads, which spend most of their time in native calls."""

    def __init__(self, source: RowSource, order: Order, size: int) -> None:
        threads = source.threads_ahead(size)
        self.depth = threads + 1
        self.lookahead = _lookahead_in_compressed_files(source, order, size, threads)
        self._fetcher = source.open(order.reach)
        self._pool = ThreadPoolExecutor(threads, "penstock-fetch")
        self._announced: deque[list[Ints]] = deque()
        self._group: Iterator[Callable[[], FetchResult]] = iter(())
        """The coalesced requests that are not submitted yet."""
        self._waiting: deque[Future[FetchResult]] = deque()

    def announce(self, requests: list[Ints]) -> None:
        if self.lookahead > 1 and requests:
            self._announced.append(requests)

    def submit(self, keys: RowKeys) -> None:
        fetch = next(self._group, None)
        if fetch is None and self._announced:
            requests = self._announced.popleft()
            coalesced = CoalescedRequests(self._fetcher, requests, self._pool)
            self._group = (partial(coalesced.fetch, number) for number in range(len(requests)))
            fetch = next(self._group)
        self._waiting.append(self._pool.submit(fetch or partial(self._fetcher.fetch_keys, keys)))

    def take(self) -> FetchResult:
        return self._waiting.popleft().result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _lookahead_in_compressed_files(source: RowSource, order: Order, size: int, threads: int) -> int:
    """Return how many requests to coalesce, because a part of a compressed file is inflated whole for any row of it."""
    parts = [index.segments for index in source.shards.indexes if index.segments is not None]
    rows = source.shards.rows
    if not parts or not rows or not source.shards.seekable:
        return 1
    # In file order, threads are to inflate different parts.
    together = max(_PARTS_AT_ONCE, 2 * threads) if threads > 1 else 0
    window = _window_rows(source, order) or rows * together // max(1, sum(map(len, parts)))
    record_bytes = sum(found.stream_bytes for found in parts) / rows
    return max(1, -(-min(window, int(_COALESCED_BYTES / max(1, record_bytes))) // size))


class CoalescedRequests:
    """Reads the records of several requests in file order, on threads, each gzip member once.

    Native code copies records twice: out of each member as it is inflated, so that the member can be freed, and then
    for each request.
    """

    def __init__(self, fetcher: RowFetcher, requests: list[Ints], pool: Executor) -> None:
        self._fetcher, self._requests = fetcher, requests
        rows, positions = np.unique(np.concatenate(requests), return_inverse=True)
        self._positions = np.split(positions, np.cumsum([len(request) for request in requests[:-1]]))
        """The positions of each request's rows among all rows."""
        # Submitted before the requests that wait for them, so that the threads of the pool cannot deadlock.
        self._parts = [pool.submit(fetcher.copy_part, part) for part in fetcher.split_into_parts(rows)]

    @cached_property
    def _records(self) -> _core.RecordPool:
        return _core.RecordPool([part.result() for part in self._parts])

    def fetch(self, request: int) -> FetchResult:
        """Return the decoded rows of a request, by its number."""
        try:
            batch = self._fetcher.decode([self._records.take(self._positions[request])])
        except (CorruptDataError, MalformedExampleError, OSError):
            # Reading this request alone finds the bad row and applies the error policy.
            return self._fetcher.fetch(self._requests[request])
        return FetchResult(batch, None)
