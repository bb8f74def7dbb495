"""Rows of many requests, read together: a member of a gzip file is inflated once for all that ask for rows of it."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import cached_property

import numpy as np

from penstock import _core
from penstock.dataset.order import Ints
from penstock.dataset.source.source import Fetched, RowFetcher
from penstock.errors import CorruptDataError, MalformedExampleError


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
        """Answer the rows of a request, by its number, decoded."""
        try:
            batch = self._fetcher.decode([self._records.take(self._places[request])])
        except (CorruptDataError, MalformedExampleError, OSError):
            # Which row it is, and what is to be done about it, is found by reading the rows of this request alone.
            return self._fetcher.fetch(self._requests[request])
        return Fetched(batch, None)
