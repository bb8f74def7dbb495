"""``take``, ``skip``, ``shard``, ``repeat``, ``concatenate`` and ``assert_cardinality``: nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from penstock.tf.data.error_recovery import resume_after_errors
from penstock.tf.data.node import INFINITE, UNKNOWN, Dependencies, Node, PassThroughNode
from penstock.tf.errors import FailedPreconditionError
from penstock.tf.tensors.specs import common_spec
from penstock.tf.tensors.structure import filled, leaves


class TakeNode(PassThroughNode):
    """The first ``count`` rows; -1 takes all."""

    def __init__(self, upstream: Node, count: int) -> None:
        super().__init__(upstream)
        self._count = count
        known = upstream.cardinality
        if count < 0 or known == UNKNOWN:
            self.cardinality = 0 if not count else known
        else:
            self.cardinality = count if known == INFINITE else min(count, known)

    def rows(self) -> Iterator[Any]:
        if not self._count:
            return iter(())  # without an iteration of the node before, which may draw seeds
        rows = self._upstream.rows()
        if self._count < 0:
            return rows
        remaining = self._count

        def first() -> Iterator[Any]:
            nonlocal remaining
            for row in islice(rows, remaining):
                remaining -= 1
                yield row

        return resume_after_errors(first)

    def row_at(self, index: int) -> Any:
        return self._upstream.row_at(index)

    def dependencies(self) -> Dependencies:
        return Dependencies("take", (self._upstream, self._count))


class SkipNode(PassThroughNode):
    """All rows except the first ``count``; -1 skips all."""

    def __init__(self, upstream: Node, count: int) -> None:
        super().__init__(upstream)
        self._count = count
        known = upstream.cardinality
        self.cardinality = 0 if count < 0 else known if known < 0 else max(0, known - count)

    def rows(self) -> Iterator[Any]:
        if self._count < 0:
            return iter(())
        rows = self._upstream.rows()
        return chain(resume_after_errors(lambda: islice(rows, self._count, self._count)), rows)

    def row_at(self, index: int) -> Any:
        return self._upstream.row_at(index + self._count)

    def dependencies(self) -> Dependencies:
        return Dependencies("skip", (self._upstream, self._count))


class ShardNode(PassThroughNode):
    """Every ``count``-th row, from ``index`` on."""

    def __init__(self, upstream: Node, count: int, index: int) -> None:
        super().__init__(upstream)
        self._count, self._index = count, index
        known = upstream.cardinality
        self.cardinality = known if known < 0 else len(range(index, known, count))

    def rows(self) -> Iterator[Any]:
        rows = self._upstream.rows()
        to_skip = self._index

        def shard() -> Iterator[Any]:
            nonlocal to_skip
            for row in rows:
                if to_skip:
                    to_skip -= 1
                else:
                    to_skip = self._count - 1
                    yield row

        return resume_after_errors(shard)

    def row_at(self, index: int) -> Any:
        return self._upstream.row_at(index * self._count + self._index)

    def dependencies(self) -> Dependencies:
        return Dependencies("shard", (self._upstream, self._count, self._index))


class RepeatNode(PassThroughNode):
    """All rows ``count`` times; -1 repeats without end, unless there are none."""

    def __init__(self, upstream: Node, count: int) -> None:
        super().__init__(upstream)
        self._count = count
        known = upstream.cardinality
        if count == 0 or known == 0:
            self.cardinality = 0
        elif count < 0 or known == INFINITE:
            self.cardinality = INFINITE
        else:
            self.cardinality = known if known == UNKNOWN else known * count

    def rows(self) -> Iterator[Any]:
        remaining, empty = self._count, True
        rows: Iterator[Any] | None = None

        def repeated() -> Iterator[Any]:
            nonlocal remaining, empty, rows
            while remaining:
                if rows is None:
                    rows, empty = self._upstream.rows(), True
                for row in rows:
                    empty = False
                    yield row
                if empty and remaining < 0:
                    return
                rows = None
                remaining -= remaining > 0

        return resume_after_errors(repeated)

    def row_at(self, index: int) -> Any:
        return self._upstream.row_at(index % max(1, self._upstream.cardinality))

    def dependencies(self) -> Dependencies:
        return Dependencies("repeat", (self._upstream, self._count))


class ConcatenateNode(PassThroughNode):
    """All rows, then those of another node with the same row format."""

    def __init__(self, first: Node, second: Node) -> None:
        super().__init__(first)
        self._second = second
        self.first_dim_varies = first.first_dim_varies or second.first_dim_varies
        counts = (first.cardinality, second.cardinality)
        self.cardinality = sum(counts) if min(counts) >= 0 else INFINITE if INFINITE in counts else UNKNOWN

    def rows(self) -> Iterator[Any]:
        return chain.from_iterable(node.rows() for node in (self._upstream, self._second))

    def row_at(self, index: int) -> Any:
        first = self._upstream.cardinality
        return self._upstream.row_at(index) if not 0 <= first <= index else self._second.row_at(index - first)

    def dependencies(self) -> Dependencies:
        return Dependencies("concatenate", (self._upstream, self._second))

    def spec(self) -> Any:
        first, second = self._upstream.spec(), self._second.spec()
        if first is None or second is None:
            return None
        return filled(first, map(common_spec, zip(leaves(first), leaves(second), strict=True)))


def counted_elements(count: int) -> str:
    """Return a number of elements as text."""
    return "an infinite number of elements" if count < 0 else f"{count} element{'s' if count != 1 else ''}"


class AssertCardinalityNode(PassThroughNode):
    """Unchanged rows, of which there have to be ``count``."""

    def __init__(self, upstream: Node, count: int) -> None:
        super().__init__(upstream)
        self.cardinality = count

    def rows(self) -> Iterator[Any]:
        rows, seen = self._upstream.rows(), 0

        def counted() -> Iterator[Any]:
            nonlocal seen
            for row in rows:
                seen += 1
                if seen > self.cardinality >= 0:
                    raise self._error(f"at least {counted_elements(seen)}")
                yield row
            if seen != self.cardinality:
                raise self._error(f"only {counted_elements(seen)}")

        return resume_after_errors(counted)

    def row_at(self, index: int) -> Any:
        known = self._upstream.cardinality
        if 0 <= known <= index:
            raise self._error(f"only {counted_elements(known)}")
        return self._upstream.row_at(index)

    def dependencies(self) -> Dependencies:
        return Dependencies("assert_cardinality", (self._upstream, self.cardinality))

    def _error(self, found: str) -> FailedPreconditionError:
        expected = counted_elements(self.cardinality)
        return FailedPreconditionError(f"Input dataset was expected to contain {expected} but contained {found}.")
