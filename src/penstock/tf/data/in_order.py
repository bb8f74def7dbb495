"""Functions that are traced, but for calls with effects: these are made for each element, in order.

A Python function may count its calls, and random values go on from element to element. Such calls are made when an
element is drawn, and what lies between them. What they need, parsing above all, is computed before, for a block of
rows. All else waits until elements are wanted, as in any traced function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.batch_values import Batched, Rows, end_to_end, stack_rows
from penstock.tf.batched import finish_batch, run_calls
from penstock.tf.data.computed import Computation, trace_of
from penstock.tf.data.elements import as_answer, call_function
from penstock.tf.data.node import Node
from penstock.tf.data.one_by_one import OneByOne
from penstock.tf.data.phases import InTurn, Phases, phases_of
from penstock.tf.inference.traced import specs_of_results
from penstock.tf.operation import OPERATIONS
from penstock.tf.random_state import FunctionState
from penstock.tf.structure import leaves
from penstock.tf.trace import Trace
from penstock.tf.tracing import Call, Untraceable


def traced_in_order(
    function: Callable[..., Any], structure: Any, known: Callable[[], Any]
) -> tuple[Trace, Phases] | None:
    """Trace a function with calls that have effects; None where it cannot be."""
    try:
        trace = trace_of(function, structure, known, effects=True)
    except Untraceable:
        return None
    # Ways that are not known yet may have effects, too.
    return None if trace.open or trace.reasons else (trace, phases_of(trace))


class Block(NamedTuple):
    """What was computed ahead for some rows, by the numbers of symbols."""

    rows: int
    values: dict[int, Batched]


class Drawn(NamedTuple):
    """A row whose calls with effects have been made."""

    block: Block
    place: int
    made: dict[int, Any]
    """What they answered, by the numbers of symbols."""


class OfDrawn:
    """Rows are drawn, and the rest of a trace makes elements of them."""

    in_order = True

    def __init__(self, trace: Trace, phases: Phases) -> None:
        self._trace = trace
        self._phases = phases

    def element(self, row: Drawn) -> Any:
        """Compute the rest for one row."""
        known = _OfRow(row.block.values, row.place)
        known.update(row.made)
        return as_answer(self._trace.finish(self._phases.behind, known))

    def batch(self, rows: list[Drawn]) -> Any:
        """Compute the rest for many rows, column by column."""
        return finish_batch(self._trace, self._phases.behind, _OfRows(rows), len(rows))


class _OfRow(dict[int, Any]):
    """The values of one row of a block, made when they are asked for."""

    def __init__(self, values: dict[int, Batched], place: int) -> None:
        self._values = values
        self._place = place

    def __missing__(self, number: int) -> Any:
        value = self[number] = self._values[number].row(self._place)
        return value


class _OfRows(dict[int, Any]):
    """The values of rows of several blocks, gathered when they are asked for."""

    def __init__(self, rows: list[Drawn]) -> None:
        self._blocks: list[Block] = []
        first: dict[int, int] = {}  # of each block, by its identity
        count = 0
        for block, _, _ in rows:
            if id(block) not in first:
                first[id(block)] = count
                count += block.rows
                self._blocks.append(block)
        self._rows = rows
        self._places = np.array([first[id(block)] + place for block, place, _ in rows], np.intp)

    def __missing__(self, number: int) -> Any:
        if number in self._blocks[0].values:
            value: Any = end_to_end([block.values[number] for block in self._blocks]).pick(self._places)
        else:  # by some rows it was not made: those that go another way
            value = stack_rows([row.made.get(number) for row in self._rows])
        self[number] = value
        return value


class InOrder(Node):
    """The rows of a step, each with what its calls with effects answered."""

    def __init__(self, before: Node, computation: Computation, trace: Trace, phases: Phases) -> None:
        self._before = before
        self._computation = computation
        self._trace = trace
        self._phases = phases
        self._inputs = [symbol.number for symbol in trace.inputs]
        self._random = FunctionState()
        self.origin = OfDrawn(trace, phases)
        self.cardinality = before.cardinality
        self.varying_first = before.varying_first

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return map(self._draw, self._ahead(self._before.rows()))

    def sample(self) -> Drawn:
        """Draw once."""
        return self._draw_alone(self._before.sample())

    def spec(self) -> Any:
        """Answer what the trace tells."""
        known = self._computation.spec(self._before.spec())
        return None if known is None else specs_of_results(self._trace, known)

    def _ahead(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Give the places of rows in blocks; where a block of them fails, its rows; and errors."""
        for some, error in self._computation.blocks(rows):
            try:
                asked, block = self._computed(some)
            except Exception as failure:
                yield from map(_Alone, some, repeat(OneByOne(failure, len(some))))
            else:
                for place in range(len(some)):
                    yield _Place(asked, block, place)
            if error is not None:
                yield error

    def _computed(self, rows: list[Any]) -> tuple[dict[int, Batched], Block]:
        """Make the calls before; answer all values, and those that are carried on."""
        known = dict(zip(self._inputs, leaves(self._computation.batch(rows)), strict=True))
        run_calls(self._phases.before, known, len(rows))
        return known, Block(len(rows), {number: known[number] for number in self._phases.carried})

    def _draw(self, what: Any) -> Drawn:
        if isinstance(what, Exception):
            raise what
        if isinstance(what, _Alone):
            found: Drawn = what.block.compute(self._draw_alone, what.row)
            return found
        return self._drawn(_OfRow(what.asked, what.place), what.block, what.place)

    def _draw_alone(self, row: Any) -> Drawn:
        known = dict(zip(self._inputs, leaves(self._computation.row(row)), strict=True))
        _make(self._phases.before, known)
        carried = {number: Rows([known[number]]) for number in self._phases.carried}
        return self._drawn(known, Block(1, dict[int, Batched](carried)), 0)

    def _drawn(self, known: dict[int, Any], block: Block, place: int) -> Drawn:
        """Make the calls in order."""
        steps: InTurn | None = self._phases.in_order
        with self._random.call():
            while steps is not None:
                call_function(_make, steps.calls, known)
                steps = steps.following(known)
        return Drawn(block, place, {number: known[number] for number in self._phases.made if number in known})


def _make(calls: list[Call], known: dict[int, Any]) -> None:
    """Make calls for one row."""
    for call in calls:
        args, kwargs = call.arguments(known)
        call.keep(OPERATIONS[call.name](*args, **kwargs), known)


class _Alone(NamedTuple):
    """A row that is computed by itself."""

    row: Any
    block: OneByOne


class _Place(NamedTuple):
    asked: dict[int, Batched]
    block: Block
    place: int
