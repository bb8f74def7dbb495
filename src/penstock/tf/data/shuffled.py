"""``shuffle``: within a buffer, in exactly TensorFlow's order."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

from penstock.tf.data.node import Moving, Node
from penstock.tf.data.philox import words
from penstock.tf.ops.random import global_seed, next_operation_seed

# Of graphs without a seed of their own, in TensorFlow.
_DEFAULT_SEED = 87654321
_LARGEST = 2**31 - 1

_END = object()


def seeds_of(seed: int | None) -> tuple[int, int]:
    """Answer the two seeds of a shuffle, as TensorFlow makes them of the global seed and its own."""
    overall = global_seed()
    if seed is None:
        if overall is None:
            return secrets.randbits(64), secrets.randbits(64)
        pair = overall % _LARGEST, next_operation_seed() % _LARGEST
    else:
        pair = _DEFAULT_SEED if overall is None else overall % _LARGEST, int(seed) % _LARGEST
    return (0, _LARGEST) if pair == (0, 0) else pair


class Shuffled(Moving):
    """Rows drawn from a buffer of ``size`` rows; None holds all. Every pass draws anew where ``reshuffle`` is set."""

    def __init__(self, before: Node, size: int | None, seed: int | None, *, reshuffle: bool) -> None:
        super().__init__(before)
        self.cardinality = before.cardinality
        self._size = size
        self._seeds = seeds_of(seed)
        self._of_passes = words(*self._seeds) if reshuffle else None
        self._lock = threading.Lock()

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return _drawn(self.before.rows(), self._size, words(*self._next_seeds()))

    def _next_seeds(self) -> tuple[int, int]:
        if self._of_passes is None:
            return self._seeds
        with self._lock:
            return next(self._of_passes), next(self._of_passes)


def _drawn(rows: Iterator[Any], size: int | None, drawn: Iterator[int]) -> Iterator[Any]:
    buffer = list(islice(rows, size))
    size = len(buffer)
    if not size:
        return
    # A ring: slot ``first`` is the oldest, and moves to where a row was taken from. A row follows when one is gone.
    first = 0
    row = None
    while row is not _END:
        place = (first + next(drawn) % size) % size
        picked = buffer[place]
        buffer[place] = buffer[first]
        yield picked
        row = next(rows, _END)
        buffer[first] = row
        first += 1
        if first == size:
            first = 0
    for left in range(size - 1, 0, -1):
        place = (first + next(drawn) % left) % size
        picked = buffer[place]
        buffer[place] = buffer[first]
        buffer[first] = _END  # so that its memory is not held until the last row is gone
        first = (first + 1) % size
        yield picked
