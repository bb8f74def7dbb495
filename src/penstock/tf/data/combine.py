"""Combines datasets: ``zip``, ``interleave``, ``choose_from_datasets`` and ``sample_from_datasets``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

from penstock.tf.data.error_recovery import resume_after_errors
from penstock.tf.data.node import (
    ELEMENTS,
    INFINITE,
    UNKNOWN,
    Dependencies,
    Node,
    RowFormat,
    ScalarFormat,
    ragged_components_in,
)
from penstock.tf.data.shuffle import seed_pair
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.tensors.dtypes import int64
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import filled, leaves, map_structure


class ZipNode(Node):
    """The elements of several nodes side by side, up to the end of the shortest."""

    row_format = ELEMENTS

    def __init__(self, nodes: Any) -> None:
        self._nodes = nodes
        counts = [node.cardinality for node in leaves(nodes)]
        finite = [count for count in counts if count != INFINITE]
        self.cardinality = UNKNOWN if UNKNOWN in finite else min(finite, default=INFINITE)
        self.first_dim_varies = any(node.first_dim_varies for node in leaves(nodes))
        if any(node.ragged_components for node in leaves(nodes)):
            self.ragged_components = ragged_components_in(self.spec())

    def rows(self) -> Iterator[Any]:
        iterators = [node.rows() for node in leaves(self._nodes)]

        def zipped() -> Iterator[Any]:
            while True:
                values: list[Any] = []
                failure: Exception | None = None
                for place, rows in enumerate(iterators):
                    try:
                        values.append(next(rows))
                    except StopIteration:
                        for other in iterators[place + 1 :]:  # as in TensorFlow: this completes caches in them
                            with suppress(Exception):
                                next(other, None)
                        return
                    except Exception as error:  # the others advance too, to stay aligned
                        failure = failure or error
                if failure is not None:
                    raise failure
                yield filled(self._nodes, values)

        return resume_after_errors(zipped)

    def row_at(self, index: int) -> Any:
        return map_structure(lambda node: node.row_at(index), self._nodes)

    def dependencies(self) -> Dependencies:
        return Dependencies("zip", (self._nodes,))

    def sample(self) -> Any:
        return map_structure(lambda node: node.sample(), self._nodes)

    def spec(self) -> Any:
        known = [node.spec() for node in leaves(self._nodes)]
        return None if None in known else filled(self._nodes, known)


class InterleaveNode(Node):
    """The rows of nodes that a function makes of elements: from ``cycle`` of them in turn, ``block`` at a time.

    ``depends_on`` is what the user passed to make them, for fingerprints.
    """

    def __init__(
        self,
        upstream: Node,
        make_node: Callable[[Any], Node],
        cycle: int,
        block: int,
        *,
        depends_on: Any,
        row_format: RowFormat = ELEMENTS,
        spec: Any = None,
    ) -> None:
        self._upstream = upstream
        self._make_node = make_node
        self._cycle = cycle
        self._block = block
        self._depends_on = depends_on
        self._spec = spec
        self.row_format = row_format
        self.cardinality = INFINITE if upstream.cardinality == INFINITE else UNKNOWN

    def rows(self) -> Iterator[Any]:
        inputs = self._upstream.rows()
        slots: list[Iterator[Any] | None] = [None] * self._cycle
        more, open_slots, slot, taken = True, 0, 0, 0

        def interleaved() -> Iterator[Any]:
            nonlocal more, open_slots, slot, taken
            while more or open_slots:
                rows = slots[slot]
                if rows is None and more:
                    try:
                        rows = slots[slot] = self._make_node(next(inputs)).rows()
                        open_slots += 1
                    except StopIteration:
                        more = False
                if rows is not None:
                    for row in islice(rows, self._block - taken):
                        taken += 1
                        yield row
                    if taken < self._block:  # the slot is refilled when its turn comes again
                        slots[slot] = None
                        open_slots -= 1
                slot, taken = (slot + 1) % self._cycle, 0

        return resume_after_errors(interleaved)

    def dependencies(self) -> Dependencies:
        return Dependencies("interleave", (self._upstream, self._depends_on, self._cycle, self._block))

    def sample_node(self) -> Node | None:
        try:
            return self._make_node(self._upstream.sample())
        except StopIteration:
            return None

    def sample(self) -> Any:
        try:
            return self._make_node(self._upstream.sample()).sample()
        except StopIteration:
            return next(self.rows())

    def spec(self) -> Any:
        return self._spec


class ChooseNode(Node):
    """Elements of several nodes, in the order of their numbers in ``choices``.

    With ``stop``, the end of a chosen node ends the iteration.
    """

    row_format = ELEMENTS

    def __init__(self, nodes: Sequence[Node], choices: Node, *, stop: bool) -> None:
        self._nodes = nodes
        self._choices = choices
        self._stop = stop
        self.first_dim_varies = any(node.first_dim_varies for node in nodes)
        endless = all(node.cardinality == INFINITE for node in (*nodes, choices))
        self.cardinality = INFINITE if endless else UNKNOWN

    def rows(self) -> Iterator[Any]:
        iterators: list[Iterator[Any] | None] = [node.rows() for node in self._nodes]
        choices = self._choices.rows()

        def chosen() -> Iterator[Any]:
            for choice in choices:
                number = int(choice)
                if not 0 <= number < len(iterators):
                    raise InvalidArgumentError(
                        f"Selector index out of range: {number} should be between 0 and {len(iterators) - 1}"
                    )
                rows = iterators[number]
                if rows is None:
                    continue
                for row in rows:
                    yield row
                    break
                else:
                    iterators[number] = None
                    if self._stop or not any(iterators):
                        return

        return resume_after_errors(chosen)

    def dependencies(self) -> Dependencies:
        return Dependencies("choose", (self._nodes, self._choices, self._stop))

    def sample(self) -> Any:
        for node in self._nodes:
            try:
                return node.sample()
            except StopIteration:
                continue
        raise StopIteration

    def spec(self) -> Any:
        first, *others = (node.spec() for node in self._nodes)
        return first if all(other == first for other in others) else None


class RandomNode(Node):
    """Random integers below ``limit`` without end, with these probabilities or equal ones."""

    row_format = ScalarFormat(np.dtype(np.int64))
    cardinality = INFINITE

    def __init__(self, limit: int, seed: int | None, *, rerandomize: bool, probabilities: Any = None) -> None:
        self._limit = limit
        self._probabilities = probabilities
        self._seed = seed
        self._seeds = seed_pair(seed)
        self._rerandomize = rerandomize
        self._iterations = 0

    def rows(self) -> Iterator[int]:
        self._iterations += self._rerandomize
        generator = np.random.default_rng([*self._seeds, self._iterations])
        while True:
            if self._probabilities is None:
                numbers = generator.integers(self._limit, size=256)
            else:
                numbers = generator.choice(self._limit, 256, p=self._probabilities)
            yield from numbers.tolist()

    def dependencies(self) -> Dependencies:
        return Dependencies("random", (self._limit, self._probabilities, self._seed, self._rerandomize))

    def spec(self) -> TensorSpec:
        return TensorSpec([], int64)
