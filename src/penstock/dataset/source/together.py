"""Rows of many requests, read together: a member of a gzip file is inflated once for all that ask for rows of it."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import cached_property
from itertools import chain

import numpy as np

from penstock.dataset.order import Ints
from penstock.dataset.source.source import Fetched, RowFetcher
from penstock.errors import CorruptDataError, MalformedExampleError


class Together:
    """Reads the records of requests ahead, in the order of the files, on threads. Nothing else is kept of the files."""

    def __init__(self, fetcher: RowFetcher, requests: list[Ints], pool: Executor) -> None:
        self._fetcher = fetcher
        self._rows = np.unique(np.concatenate(requests))
        # Before what asks for them, so that no thread waits for one that waits for it.
        self._parts = [pool.submit(fetcher.records_once, part) for part in fetcher.parts(self._rows)]

    @cached_property
    def _records(self) -> list[bytes]:
        return list(chain.from_iterable(part.result() for part in self._parts))

    def fetch(self, rows: Ints) -> Fetched:
        """Answer rows of a request, decoded."""
        try:
            records = self._records
            batch = self._fetcher.decode([records[place] for place in np.searchsorted(self._rows, rows).tolist()])
        except (CorruptDataError, MalformedExampleError, OSError):
            # Which row it is, and what is to be done about it, is found by reading the rows of this request alone.
            return self._fetcher.fetch(rows)
        return Fetched(batch, None)
