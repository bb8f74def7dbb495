"""``shuffle``: within a buffer, in exactly TensorFlow's order."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

from penstock.tf.data.error_recovery import lasting
from penstock.tf.data.node import Node, PassThroughNode
from penstock.tf.ops.philox import words
from penstock.tf.ops.random_state import operation_seeds

_END = object()


def seeds_of(seed: int | None) -> tuple[int, int]:
    """Return the two seeds of a shuffle, as TensorFlow makes them of the global seed and its own."""
    return operation_seeds(seed) or (secrets.randbits(64), secrets.randbits(64))


class ShuffleNode(PassThroughNode):
    """Rows drawn from a buffer of ``size`` rows; None holds all. Every pass draws anew where ``reshuffle`` is set."""

    def __init__(self, before: Node, size: int | None, seed: int | None, *, reshuffle: bool) -> None:
        super().__init__(before)
        self.cardinality = before.cardinality
        self._size, self._seed = size, seed
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
    # A ring: slot ``first`` is the oldest, and moves to where a row was taken from. A row follows when one is gone.
    buffer: list[Any] = []
    owing: int | None = None  # the slot that waits for a row, where an error came in its place

    def draw() -> Iterator[Any]:
        nonlocal owing
        first, row = 0, None
        if owing is None:
            buffer.extend(islice(rows, None if size is None else size - len(buffer)))
        held = len(buffer)
        if owing is not None:
            row = buffer[owing] = next(rows, _END)
            first = (owing + 1) % held
            owing = None
        while held and row is not _END:
            place = (first + next(drawn) % held) % held
            picked = buffer[place]
            buffer[place] = buffer[first]
            yield picked
            try:
                row = next(rows, _END)
            except Exception:
                owing = first
                raise
            buffer[first] = row
            first += 1
            if first == held:
                first = 0
        for left in range(held - 1, 0, -1):
            place = (first + next(drawn) % left) % held
            picked = buffer[place]
            buffer[place] = buffer[first]
            buffer[first] = _END  # so that its memory is not held until the last row is gone
            first = (first + 1) % held
            yield picked

    return lasting(draw)
