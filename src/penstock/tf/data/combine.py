"""Steps that take elements of several datasets by choice, and of one as long as something holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.data.error_recovery import lasting
from penstock.tf.data.node import ELEMENTS, INFINITE, UNKNOWN, Node, Origin, PassThroughNode, ragged_rows_in
from penstock.tf.data.shuffle import seeds_of
from penstock.tf.errors import FailedPreconditionError, InvalidArgumentError
from penstock.tf.tensors.structure import filled, leaves, map_structure


class ZipNode(Node):
    """The elements of several steps side by side, as long as all last."""

    origin = ELEMENTS

    def __init__(self, nodes: Any) -> None:
        self._nodes = nodes
        parts = [node.cardinality for node in leaves(nodes)]
        finite = [part for part in parts if part != INFINITE]
        self.cardinality = UNKNOWN if UNKNOWN in finite else min(finite, default=INFINITE)
        self.varying_first = any(node.varying_first for node in leaves(nodes))
        if any(node.ragged_rows for node in leaves(nodes)):
            self.ragged_rows = ragged_rows_in(self.spec())

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        passes = [node.rows() for node in leaves(self._nodes)]

        def side_by_side() -> Iterator[Any]:
            while True:
                values: list[Any] = []
                failure: Exception | None = None
                for place, rows in enumerate(passes):
                    try:
                        values.append(next(rows))
                    except StopIteration:
                        for other in passes[place + 1 :]:  # as in TensorFlow: caches in them are complete by this
                            with suppress(Exception):
                                next(other, None)
                        return
                    except Exception as error:  # the others move on, too, to stay beside it
                        failure = failure or error
                if failure is not None:
                    raise failure
                yield filled(self._nodes, values)

        return lasting(side_by_side)

    def sample(self) -> Any:
        """Return an element of each."""
        return map_structure(lambda node: node.sample(), self._nodes)

    def spec(self) -> Any:
        """Return what is known of all of them, if it is."""
        known = [node.spec() for node in leaves(self._nodes)]
        return None if None in known else filled(self._nodes, known)


class InterleaveNode(Node):
    """The rows of datasets that a function makes of elements: of ``cycle`` ones in turn, ``block`` at a time."""

    def __init__(
        self,
        before: Node,
        make: Callable[[Any], Node],
        cycle: int,
        block: int,
        *,
        origin: Origin = ELEMENTS,
        spec: Any = None,
    ) -> None:
        self._before = before
        self._make = make
        self._cycle = cycle
        self._block = block
        self._spec = spec
        self.origin = origin

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        inputs = self._before.rows()
        slots: list[Iterator[Any] | None] = [None] * self._cycle
        more, open_slots, at, taken = True, 0, 0, 0

        def in_turn() -> Iterator[Any]:
            nonlocal more, open_slots, at, taken
            while more or open_slots:
                rows = slots[at]
                if rows is None and more:
                    try:
                        rows = slots[at] = self._make(next(inputs)).rows()
                        open_slots += 1
                    except StopIteration:
                        more = False
                if rows is not None:
                    for row in islice(rows, self._block - taken):
                        taken += 1
                        yield row
                    if taken < self._block:  # its slot is empty now, and filled when its turn comes again
                        slots[at] = None
                        open_slots -= 1
                at, taken = (at + 1) % self._cycle, 0

        return lasting(in_turn)

    def sample_of_steps(self) -> Node | None:
        """Return the first dataset."""
        try:
            return self._make(self._before.sample())
        except StopIteration:
            return None

    def sample(self) -> Any:
        """Return a row of the first dataset; or, where that is empty, of all of them."""
        try:
            return self._make(self._before.sample()).sample()
        except StopIteration:
            return next(self.rows())

    def spec(self) -> Any:
        """Return what was said of the elements of all."""
        return self._spec


class _Failure(NamedTuple):
    """Stands in the place of an element that cannot be had: windows that it is in fail, and no others."""

    error: Exception


def _outcomes(rows: Iterator[Any]) -> Iterator[Any]:
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except Exception as error:
            row = _Failure(error)
        yield row


class ChooseNode(Node):
    """Elements of several steps, by the numbers that another one gives; ``stop``: until a chosen step has ended."""

    origin = ELEMENTS

    def __init__(self, nodes: Sequence[Node], choices: Node, *, stop: bool) -> None:
        self._nodes = nodes
        self._choices = choices
        self._stop = stop
        self.varying_first = any(node.varying_first for node in nodes)

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        passes: list[Iterator[Any] | None] = [node.rows() for node in self._nodes]
        choices = self._choices.rows()

        def taken() -> Iterator[Any]:
            for choice in choices:
                number = int(choice)
                if not 0 <= number < len(passes):
                    raise InvalidArgumentError(
                        f"Selector index out of range: {number} should be between 0 and {len(passes) - 1}"
                    )
                rows = passes[number]
                if rows is None:
                    continue
                for row in rows:
                    yield row
                    break
                else:
                    passes[number] = None
                    if self._stop or not any(passes):
                        return

        return lasting(taken)

    def sample(self) -> Any:
        """Return an element of the first step that has one."""
        for node in self._nodes:
            try:
                return node.sample()
            except StopIteration:
                continue
        raise StopIteration

    def spec(self) -> Any:
        """Return what is known of all of them, where it is the same."""
        first, *others = (node.spec() for node in self._nodes)
        return first if all(other == first for other in others) else None


class SampleNode(Node):
    """Random numbers without end, drawn some at a time; ``again``: others in each pass."""

    origin = ELEMENTS

    def __init__(self, draw: Callable[[np.random.Generator], Any], seed: int | None, *, again: bool) -> None:
        self._draw = draw
        self._seeds = seeds_of(seed)
        self._again = again
        self._passes = 0

    def rows(self) -> Iterator[int]:
        """Start a pass."""
        self._passes += self._again
        generator = np.random.default_rng([*self._seeds, self._passes])
        while True:
            yield from self._draw(generator).tolist()


class AssertCardinalityNode(PassThroughNode):
    """Rows as they are, which have to be as many as was said."""

    def __init__(self, before: Node, count: int) -> None:
        super().__init__(before)
        self.cardinality = count

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        rows, given = self.before.rows(), 0

        def counted() -> Iterator[Any]:
            nonlocal given
            for row in rows:
                given += 1
                if given > self.cardinality >= 0:
                    raise FailedPreconditionError(
                        f"Input dataset was expected to contain {self.cardinality} elements but contained at least "
                        f"{given} elements."
                    )
                yield row
            if given != self.cardinality:
                wanted = "an infinite number of" if self.cardinality < 0 else self.cardinality
                raise FailedPreconditionError(
                    f"Input dataset was expected to contain {wanted} elements but contained only {given} elements."
                )

        return lasting(counted)
