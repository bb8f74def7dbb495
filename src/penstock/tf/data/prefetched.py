"""``prefetch``: batches are made on a thread, ahead of the consumer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from penstock.tf.data.node import Moving, Node

_END = object()


class Prefetched(Moving):
    """Rows as they are, up to ``ahead`` of them made while the consumer works."""

    def __init__(self, before: Node, ahead: int) -> None:
        super().__init__(before)
        self.cardinality = before.cardinality
        self._ahead = ahead

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        rows = self.before.rows()
        thread = ThreadPoolExecutor(1, "penstock-prefetch")
        try:
            waiting: deque[Future[Any]] = deque(thread.submit(next, rows, _END) for _ in range(self._ahead))
            while (row := waiting.popleft().result()) is not _END:
                waiting.append(thread.submit(next, rows, _END))
                yield row
                del row  # or its memory could not be used again while the next one is awaited
        finally:
            # Not waited for: it may be the thread itself that collects an abandoned pass.
            thread.shutdown(wait=False, cancel_futures=True)
