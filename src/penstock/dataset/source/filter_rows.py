"""Reads rows that pass tests: only the columns of a test are decoded of the rows that it rejects."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np

from penstock import _core
from penstock._core import RecordChunk
from penstock.codec.decoder import Decoder, rebatch
from penstock.columns import Batch
from penstock.dataset.block import Elements, take_keys
from penstock.dataset.order import Ints, RowKeys, Run
from penstock.dataset.source.pick_records import slice_chunks
from penstock.dataset.source.row_source import RowFetcher, RowSource
from penstock.dataset.source.sequential import chunks_from
from penstock.dataset.workers import Outcome
from penstock.errors import CorruptDataError, MalformedExampleError
from penstock.records.read_options import RecordError


class RowTest(Protocol):
    """A test of rows by some of their columns."""

    def matches(self, elements: Elements, keys: RowKeys) -> Outcome:
        """Return whether each row passes, or the results before the row for which a function raised."""

    @property
    def calls(self) -> list[str]:
        """The method call that made the test, for display."""

    def describe(self) -> list[Any]:
        """Return in JSON what decides the result. Saved states compare it."""


class RowFilter(NamedTuple):
    """A test, and a source that decodes its columns alone."""

    source: RowSource
    test: RowTest


class Passed(NamedTuple):
    """The rows of a request that pass all tests."""

    batch: Batch | None
    """None where no row passes."""
    positions: Ints
    """Their positions in the request."""
    errors: tuple[RecordError, ...] = ()
    """Errors of records that are skipped."""
    failure: Exception | None = None
    """The error to raise after these rows."""


class _NotLocatedError(Exception):
    """A record does not fit the schema, and it is not known which one."""


class FilteredReader:
    """Reads records in requests, on threads, and tests and decodes them on the calling thread.

    Args:
        source: Decodes the rows that pass.
        filters: The tests, in order.
        window: How far apart in a file rows can be that are read at about the same time.
    """

    def __init__(self, source: RowSource, filters: Sequence[RowFilter], window: int) -> None:
        self._source, self._filters = source, filters
        threads = source.shards.options.thread_count
        self._decoder = source.new_decoder(threads)
        self._decoders = [filter_.source.new_decoder(threads) for filter_ in filters]
        self._fetcher: RowFetcher | None = None
        self._window = window
        self._pool: ThreadPoolExecutor | None = None

    def stream(self, run: Run, size: int) -> Iterator[tuple[list[RecordChunk], Exception | None]]:
        """Read successive rows front to back in requests of ``size``; an error comes with the rows before it."""
        errors: list[Exception] = []
        left = None if run.stop is None else run.stop - run.start
        for chunks in rebatch(_until_error(chunks_from(self._source, run.start), errors), size):
            rows = sum(map(len, chunks))
            if left is not None and rows >= left:
                if left:
                    yield slice_chunks(chunks, 0, left), None
                return
            left = None if left is None else left - rows
            yield chunks, errors[0] if errors and rows < size else None
            if errors and rows < size:
                return
        if errors:
            yield [], errors[0]

    def fetch(self, requests: Iterable[Ints]) -> Iterator[list[RecordChunk] | None]:
        """Read the rows of requests ahead, as records that no longer know their location; None for a damaged one."""
        threads = self._source.shards.options.thread_count if self._source.shards.seekable else 1
        self._pool = ThreadPoolExecutor(threads, "penstock-filter")
        fetcher = self._random_access
        waiting: deque[Future[list[RecordChunk] | None]] = deque()
        for rows in requests:
            waiting.append(self._pool.submit(_read, self._source, fetcher, rows))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    @property
    def _random_access(self) -> RowFetcher:
        if self._fetcher is None:
            self._fetcher = self._source.open(self._window)
        return self._fetcher

    def passed(self, chunks: list[RecordChunk] | None, keys: RowKeys, *, are_located: bool) -> Passed:
        """Return the rows of a request that pass all tests.

        Args:
            chunks: The records, or None to read them again one by one.
            keys: Their rows.
            are_located: Whether the records know where they are, for error messages; else they are read again.
        """
        if chunks is None:
            return self._passed_of_damaged(keys)
        try:
            return self._passed_of(chunks, keys, are_located)
        except _NotLocatedError:
            return self._passed_of_damaged(keys)

    def _passed_of(self, chunks: list[RecordChunk], keys: RowKeys, are_located: bool) -> Passed:
        pool = _core.RecordPool(chunks)
        positions, failure = np.arange(len(keys.rows)), None
        for filter_, decoder in zip(self._filters, self._decoders, strict=True):
            batch, error = _decode(decoder, chunks, pool, positions, are_located)
            failure = error or failure
            positions = positions[: batch.num_rows]
            results, error = filter_.test.matches(batch, take_keys(keys, positions.tolist()))
            failure = error or failure
            positions = positions[: len(results)][np.array(results, np.bool_)]
            if not len(positions):
                return Passed(None, positions, (), failure)
        batch, error = _decode(self._decoder, chunks, pool, positions, are_located)
        positions = positions[: batch.num_rows]
        return Passed(batch if len(positions) else None, positions, (), error or failure)

    def _passed_of_damaged(self, keys: RowKeys) -> Passed:
        """Do the same where records are damaged: they are skipped, or raise after the rows before them."""
        positions, errors = np.arange(len(keys.rows)), list[RecordError]()
        failure: Exception | None = None
        fetchers = [*(filter_.source.open(self._window) for filter_ in self._filters), self._random_access]
        batch: Batch | None = None
        for number, fetcher in enumerate(fetchers):
            try:
                batch, found, skipped, error = fetcher.fetch(keys.rows[positions])
            except (CorruptDataError, MalformedExampleError) as raised:
                return Passed(None, positions[:0], tuple(errors), raised)
            errors += skipped
            failure = error or failure
            positions = positions if found is None else positions[found]
            if number < len(self._filters):
                results, raised_by_test = self._filters[number].test.matches(batch, take_keys(keys, positions.tolist()))
                failure = raised_by_test or failure
                positions = positions[: len(results)][np.array(results, np.bool_)]
            if not len(positions):
                return Passed(None, positions, tuple(errors), failure)
        return Passed(batch, positions, tuple(errors), failure)

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _read(source: RowSource, fetcher: RowFetcher, rows: Ints) -> list[RecordChunk] | None:
    if source.shards.local_and_plain:
        records, faults = source._native_fetcher().records(rows)
        return None if faults else [_core.chunk_from_records(records)]
    try:
        chunks, inverse = fetcher.read(rows)
    except (CorruptDataError, MalformedExampleError):
        return None
    return [_core.RecordPool(chunks).take(inverse)]


def _decode(
    decoder: Decoder, chunks: list[RecordChunk], pool: _core.RecordPool, positions: Ints, are_located: bool
) -> tuple[Batch, Exception | None]:
    """Decode some of the records, or those before one that does not fit the schema, with its error."""
    try:
        is_whole = len(positions) == len(pool)
        return decoder.decode(chunks if is_whole else [pool.take(positions)]), None
    except MalformedExampleError:
        if not are_located:
            raise _NotLocatedError from None
    # Decoded again from the chunks, which know where their records are.
    pieces = [piece for position in positions.tolist() for piece in slice_chunks(chunks, position, position + 1)]
    low, high = 0, len(pieces)  # pieces[:low] decode, pieces[:high] do not
    found: MalformedExampleError | None = None
    while found is None or high - low > 1:
        middle = high if found is None else (low + high) // 2
        try:
            decoder.decode(pieces[:middle])
            low = middle
        except MalformedExampleError as error:
            found, high = error, middle
    return decoder.decode(pieces[:low]), found


def _until_error(chunks: Iterator[RecordChunk], errors: list[Exception]) -> Iterator[RecordChunk]:
    try:
        yield from chunks
    except Exception as error:
        errors.append(error)
