"""``shuffle``: within a buffer, in exactly TensorFlow's order."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

from penstock.tf.data.error_recovery import resume_after_errors
from penstock.tf.data.node import Dependencies, Node, PassThroughNode
from penstock.tf.ops.philox import words
from penstock.tf.ops.random_state import operation_seeds

_END = object()


def seed_pair(seed: int | None) -> tuple[int, int]:
    """Return the two seeds that TensorFlow derives from the global seed and this one; random ones without any."""
    return operation_seeds(seed) or (secrets.randbits(64), secrets.randbits(64))


class ShuffleNode(PassThroughNode):
    """Rows drawn from a buffer of ``buffer_size`` rows (None holds all); ``reshuffle``: differently each iteration."""

    def __init__(self, upstream: Node, buffer_size: int | None, seed: int | None, *, reshuffle: bool) -> None:
        super().__init__(upstream)
        self.cardinality = upstream.cardinality
        self._buffer_size, self._seed, self._reshuffle = buffer_size, seed, reshuffle
        self._seeds = seed_pair(seed)
        self._iteration_seeds = words(*self._seeds) if reshuffle else None
        self._lock = threading.Lock()
        self._order: list[int] | None = None  # for random access

    def rows(self) -> Iterator[Any]:
        return _shuffled(self._upstream.rows(), self._buffer_size, words(*self._next_seeds()))

    def row_at(self, index: int) -> Any:
        if self._order is None:
            count = self._upstream.cardinality
            self._order = list(_shuffled(iter(range(count)), self._buffer_size, words(*self._seeds)))
        return self._upstream.row_at(self._order[index])

    def dependencies(self) -> Dependencies:
        return Dependencies("shuffle", (self._upstream, self._buffer_size, self._seed, self._reshuffle))

    def _next_seeds(self) -> tuple[int, int]:
        if self._iteration_seeds is None:
            return self._seeds
        with self._lock:
            return next(self._iteration_seeds), next(self._iteration_seeds)


def _shuffled(rows: Iterator[Any], buffer_size: int | None, random_words: Iterator[int]) -> Iterator[Any]:
    # The buffer is a ring: slot ``first`` holds the oldest row, which moves to the slot that a row was drawn from. The
    # next row takes slot ``first``.
    buffer: list[Any] = []
    empty_slot: int | None = None  # set where an error came instead of the next row

    def draw() -> Iterator[Any]:
        nonlocal empty_slot
        first, row = 0, None
        if empty_slot is None:
            buffer.extend(islice(rows, None if buffer_size is None else buffer_size - len(buffer)))
        size = len(buffer)
        if empty_slot is not None:
            row = buffer[empty_slot] = next(rows, _END)
            first = (empty_slot + 1) % size
            empty_slot = None
        while size and row is not _END:
            slot = (first + next(random_words) % size) % size
            drawn = buffer[slot]
            buffer[slot] = buffer[first]
            yield drawn
            try:
                row = next(rows, _END)
            except Exception:
                empty_slot = first
                raise
            buffer[first] = row
            first += 1
            if first == size:
                first = 0
        for remaining in range(size - 1, 0, -1):
            slot = (first + next(random_words) % remaining) % size
            drawn = buffer[slot]
            buffer[slot] = buffer[first]
            buffer[first] = _END  # so that its memory is released before the last row
            first = (first + 1) % size
            yield drawn

    return resume_after_errors(draw)
