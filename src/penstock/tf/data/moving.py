"""Steps that move rows and compute nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from penstock.tf.data.node import INFINITE, UNKNOWN, Moving, Node


class Taken(Moving):
    """The first ``count`` rows; -1 is all."""

    def __init__(self, before: Node, count: int) -> None:
        super().__init__(before)
        self._count = count
        known = before.cardinality
        if count < 0 or known == UNKNOWN:
            self.cardinality = 0 if not count else known
        else:
            self.cardinality = count if known == INFINITE else min(count, known)

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return self.before.rows() if self._count < 0 else islice(self.before.rows(), self._count)


class Skipped(Moving):
    """All rows but the first ``count``; -1 leaves none."""

    def __init__(self, before: Node, count: int) -> None:
        super().__init__(before)
        self._count = count
        known = before.cardinality
        self.cardinality = 0 if count < 0 else known if known < 0 else max(0, known - count)

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return iter(()) if self._count < 0 else islice(self.before.rows(), self._count, None)


class Shard(Moving):
    """Every ``count``-th row, from ``index`` on."""

    def __init__(self, before: Node, count: int, index: int) -> None:
        super().__init__(before)
        self._count, self._index = count, index
        known = before.cardinality
        self.cardinality = known if known < 0 else len(range(index, known, count))

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return islice(self.before.rows(), self._index, None, self._count)


class Repeated(Moving):
    """All rows ``count`` times over; -1 is without end, unless there are none."""

    def __init__(self, before: Node, count: int) -> None:
        super().__init__(before)
        self._count = count
        known = before.cardinality
        if count == 0 or known == 0:
            self.cardinality = 0
        elif count < 0 or known == INFINITE:
            self.cardinality = INFINITE
        else:
            self.cardinality = known if known == UNKNOWN else known * count

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        left = self._count
        while left:
            empty = True
            for row in self.before.rows():
                empty = False
                yield row
            if empty and left < 0:
                return
            left -= left > 0


class Concatenated(Moving):
    """All rows, and then those of another step of the same origin."""

    def __init__(self, before: Node, after: Node) -> None:
        super().__init__(before)
        self._after = after
        self.varying_first = before.varying_first or after.varying_first
        parts = (before.cardinality, after.cardinality)
        self.cardinality = sum(parts) if min(parts) >= 0 else INFINITE if INFINITE in parts else UNKNOWN

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return chain(self.before.rows(), _deferred(self._after))


def _deferred(node: Node) -> Iterator[Any]:
    yield from node.rows()


class Cached(Moving):
    """All rows, kept in memory by the first pass that comes to the end."""

    def __init__(self, before: Node) -> None:
        super().__init__(before)
        self.cardinality = before.cardinality
        self._kept: list[Any] | None = None

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return iter(self._kept) if self._kept is not None else self._first_pass()

    def _first_pass(self) -> Iterator[Any]:
        kept = []
        for row in self.before.rows():
            kept.append(row)
            yield row
        self._kept = kept
