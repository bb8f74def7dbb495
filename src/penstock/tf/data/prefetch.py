"""``prefetch``: a thread computes batches ahead of the consumer."""

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
    """Unchanged rows, of which a thread computes up to ``buffer_size`` ahead."""

    def __init__(self, upstream: Node, buffer_size: int) -> None:
        super().__init__(upstream)
        self.cardinality = upstream.cardinality
        self._buffer_size = buffer_size

    def rows(self) -> Iterator[Any]:
        return chain.from_iterable(self._runs())

    def row_at(self, index: int) -> Any:
        return self._upstream.row_at(index)

    def dependencies(self) -> Node:
        return self._upstream

    def _runs(self) -> Iterator[Iterator[Any]]:
        """Return the rows up to an error, which ends a generator, then those after it."""
        rows = self._upstream.rows()
        thread = ThreadPoolExecutor(1, "penstock-prefetch")
        try:
            pending: deque[Future[Any]] = deque(_submit(thread, rows) for _ in range(self._buffer_size))
            while pending:
                yield _run(rows, pending, thread)
        finally:
            # Without waiting: an abandoned iterator may be collected on the thread itself.
            thread.shutdown(wait=False, cancel_futures=True)


def _run(rows: Iterator[Any], pending: deque[Future[Any]], thread: ThreadPoolExecutor) -> Iterator[Any]:
    while pending:
        try:
            row = pending.popleft().result()
        except Exception:
            pending.append(_submit(thread, rows))
            raise
        if row is _END:
            pending.clear()
            return
        pending.append(_submit(thread, rows))
        yield row
        del row  # or its memory could not be reused while the next one is computed


def _submit(thread: ThreadPoolExecutor, rows: Iterator[Any]) -> Future[Any]:
    """Compute the next row on the thread, in the consumer's context, which identifies the iteration."""
    return thread.submit(copy_context().run, lambda: next(rows, _END))
