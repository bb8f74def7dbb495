"""``prefetch``: batches are made on a thread, ahead of the consumer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain
from typing import Any

from penstock.tf.data.node import Node, PassThroughNode

_END = object()


class PrefetchNode(PassThroughNode):
    """Rows as they are, up to ``ahead`` of them made while the consumer works."""

    def __init__(self, before: Node, ahead: int) -> None:
        super().__init__(before)
        self.cardinality = before.cardinality
        self._ahead = ahead

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return chain.from_iterable(self._stretches())

    def _stretches(self) -> Iterator[Iterator[Any]]:
        """Give the rows up to an error, which ends a generator, and then those behind it."""
        rows = self.before.rows()
        thread = ThreadPoolExecutor(1, "penstock-prefetch")
        try:
            waiting: deque[Future[Any]] = deque(_ask(thread, rows) for _ in range(self._ahead))
            while waiting:
                yield _stretch(rows, waiting, thread)
        finally:
            # Not waited for: it may be the thread itself that collects an abandoned pass.
            thread.shutdown(wait=False, cancel_futures=True)


def _stretch(rows: Iterator[Any], waiting: deque[Future[Any]], thread: ThreadPoolExecutor) -> Iterator[Any]:
    while waiting:
        try:
            row = waiting.popleft().result()
        except Exception:
            waiting.append(_ask(thread, rows))
            raise
        if row is _END:
            waiting.clear()
            return
        waiting.append(_ask(thread, rows))
        yield row
        del row  # or its memory could not be used again while the next one is awaited


def _ask(thread: ThreadPoolExecutor, rows: Iterator[Any]) -> Future[Any]:
    """Let the thread make the next row, in the context of the consumer: it says which iteration this is."""
    return thread.submit(copy_context().run, lambda: next(rows, _END))
