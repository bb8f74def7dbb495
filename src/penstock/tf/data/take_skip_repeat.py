"""Steps that move rows and compute nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from penstock.tf.data.error_recovery import lasting
from penstock.tf.data.node import INFINITE, UNKNOWN, Node, PassThroughNode
from penstock.tf.tensors.specs import common_spec
from penstock.tf.tensors.structure import filled, leaves


class TakeNode(PassThroughNode):
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
        if not self._count:
            return iter(())  # without beginning the step before, which may draw seeds
        rows = self.before.rows()
        if self._count < 0:
            return rows
        left = self._count

        def first() -> Iterator[Any]:
            nonlocal left
            for row in islice(rows, left):
                left -= 1
                yield row

        return lasting(first)


class SkipNode(PassThroughNode):
    """All rows but the first ``count``; -1 leaves none."""

    def __init__(self, before: Node, count: int) -> None:
        super().__init__(before)
        self._count = count
        known = before.cardinality
        self.cardinality = 0 if count < 0 else known if known < 0 else max(0, known - count)

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        if self._count < 0:
            return iter(())
        rows = self.before.rows()
        return chain(lasting(lambda: islice(rows, self._count, self._count)), rows)


class ShardNode(PassThroughNode):
    """Every ``count``-th row, from ``index`` on."""

    def __init__(self, before: Node, count: int, index: int) -> None:
        super().__init__(before)
        self._count, self._index = count, index
        known = before.cardinality
        self.cardinality = known if known < 0 else len(range(index, known, count))

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        rows = self.before.rows()
        ahead = self._index  # rows to pass over

        def ours() -> Iterator[Any]:
            nonlocal ahead
            for row in rows:
                if ahead:
                    ahead -= 1
                else:
                    ahead = self._count - 1
                    yield row

        return lasting(ours)


class RepeatNode(PassThroughNode):
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
        left, empty = self._count, True
        rows: Iterator[Any] | None = None

        def again() -> Iterator[Any]:
            nonlocal left, empty, rows
            while left:
                if rows is None:
                    rows, empty = self.before.rows(), True
                for row in rows:
                    empty = False
                    yield row
                if empty and left < 0:
                    return
                rows = None
                left -= left > 0

        return lasting(again)


class ConcatenateNode(PassThroughNode):
    """All rows, and then those of another step of the same origin."""

    def __init__(self, before: Node, after: Node) -> None:
        super().__init__(before)
        self._after = after
        self.varying_first = before.varying_first or after.varying_first
        parts = (before.cardinality, after.cardinality)
        self.cardinality = sum(parts) if min(parts) >= 0 else INFINITE if INFINITE in parts else UNKNOWN

    def spec(self) -> Any:
        """Return what is known of rows of both."""
        before, after = self.before.spec(), self._after.spec()
        if before is None or after is None:
            return None
        return filled(before, map(common_spec, zip(leaves(before), leaves(after), strict=True)))

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return chain.from_iterable(node.rows() for node in (self.before, self._after))
