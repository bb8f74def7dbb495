"""Functions that are traced, but for calls with effects: these are made for each element, in order.

A Python function may count its calls, and random values come out of one generator. Such calls are made when an element
is drawn, and what lies between them. What they need, parsing above all, is computed before, for a block of rows. All
else waits until elements are wanted, as in any traced function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.batch_values import Batched, end_to_end, stack_rows
from penstock.tf.batched import finish_batch, run_calls
from penstock.tf.data.computed import Computation, trace_of
from penstock.tf.data.elements import as_answer
from penstock.tf.data.node import Node
from penstock.tf.inference.traced import specs_of_results
from penstock.tf.operation import OPERATIONS
from penstock.tf.structure import leaves
from penstock.tf.trace import Fork, Stretch, Trace
from penstock.tf.tracing import Call, Symbol, Untraceable, has_effects


class Phases(NamedTuple):
    """The calls of a trace, by when they are made."""

    before: list[Call]
    """What calls with effects need: for a block of rows, ahead."""
    in_order: list[Call]
    """Those with effects, and what lies between them: for each row, when it is drawn."""
    behind: Stretch
    """All others: for many rows at once, when elements are wanted."""
    carried: frozenset[int]
    """The symbols that the last ones ask for, of inputs and of calls before."""
    made: tuple[int, ...]
    """And of those that are made in order."""


def traced_in_order(function: Callable[..., Any], structure: Any) -> tuple[Trace, Phases] | None:
    """Trace a function with calls that have effects; None where it cannot be, or where they are behind a condition."""
    try:
        trace = trace_of(function, structure, effects=True)
    except Untraceable:
        return None
    phases = _phases_of(trace)
    return None if phases is None else (trace, phases)


def _phases_of(trace: Trace) -> Phases | None:
    calls, end = trace.start
    if trace.open or trace.reasons or _any_effects(end):
        return None
    needed: set[int] = set()
    early: set[int] = set()  # places of calls
    for place in reversed(range(len(calls))):
        if has_effects(calls[place].name) or not needed.isdisjoint(calls[place].numbers):
            early.add(place)
            needed |= _asked_by(calls[place])
    before, in_order, made = list[Call](), list[Call](), set[int]()
    for place in sorted(early):
        call = calls[place]
        if has_effects(call.name) or not made.isdisjoint(_asked_by(call)):
            in_order.append(call)
            made.update(call.numbers)
        else:
            before.append(call)
    behind = Stretch([call for place, call in enumerate(calls) if place not in early], end)
    asked = _asked_behind(behind)
    return Phases(before, in_order, behind, frozenset(asked - made), tuple(asked & made))


def _any_effects(end: Any) -> bool:
    if not isinstance(end, Fork):
        return False
    return any(any(has_effects(call.name) for call in way.calls) or _any_effects(way.end) for way in (end.yes, end.no))


def _asked_by(structure: Any) -> set[int]:
    parts = (structure.args, structure.kwargs) if isinstance(structure, Call) else structure
    return {leaf.number for leaf in leaves(parts) if isinstance(leaf, Symbol)}


def _asked_behind(stretch: Stretch) -> set[int]:
    """Answer the symbols that a stretch and all behind it ask for; some may be its own."""
    asked = {number for call in stretch.calls for number in _asked_by(call)}
    if isinstance(stretch.end, Fork):
        question, yes, no, settled = stretch.end
        return asked | {question.symbol.number, *settled.values()} | _asked_behind(yes) | _asked_behind(no)
    return asked | _asked_by(stretch.end)


class Block(NamedTuple):
    """What was computed ahead for some rows, by the numbers of symbols."""

    rows: int
    values: dict[int, Batched]


class Drawn(NamedTuple):
    """A row whose calls with effects have been made."""

    block: Block
    place: int
    made: list[Any]


class OfDrawn:
    """Rows are drawn, and the rest of a trace makes elements of them."""

    in_order = True

    def __init__(self, trace: Trace, phases: Phases) -> None:
        self._trace = trace
        self._phases = phases

    def element(self, row: Drawn) -> Any:
        """Compute the rest for one row."""
        known = _OfRow(row.block.values, row.place)
        known.update(zip(self._phases.made, row.made, strict=True))
        return as_answer(self._trace.finish(self._phases.behind, known))

    def batch(self, rows: list[Drawn]) -> Any:
        """Compute the rest for many rows, column by column."""
        known = _OfRows(rows)
        columns = zip(*(row.made for row in rows), strict=True)
        made = zip(self._phases.made, columns, strict=True)
        known.update((number, stack_rows(list(column))) for number, column in made)
        return finish_batch(self._trace, self._phases.behind, known, len(rows))


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
        self._places = np.array([first[id(block)] + place for block, place, _ in rows], np.intp)

    def __missing__(self, number: int) -> Any:
        value = self[number] = end_to_end([block.values[number] for block in self._blocks]).pick(self._places)
        return value


class InOrder(Node):
    """The rows of a step, each with what its calls with effects answered."""

    def __init__(self, before: Node, computation: Computation, trace: Trace, phases: Phases) -> None:
        self._before = before
        self._computation = computation
        self._trace = trace
        self._phases = phases
        self._inputs = [symbol.number for symbol in trace.inputs]
        self.origin = OfDrawn(trace, phases)
        self.cardinality = before.cardinality
        self.varying_first = before.varying_first

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return map(self._draw, self._ahead(self._before.rows()))

    def sample(self) -> Drawn:
        """Draw once."""
        return self._draw(self._before.sample())

    def spec(self) -> Any:
        """Answer what the trace tells."""
        known = self._computation.spec(self._before.spec())
        return None if known is None else specs_of_results(self._trace, known)

    def _ahead(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Give places in blocks; rows, where a block of them fails; and errors."""
        for some, error in self._computation.blocks(rows):
            try:
                asked, block = self._computed(some)
            except Exception:
                yield from some
            else:
                for place in range(len(some)):
                    yield _Place(asked, block, place)
            if error is not None:
                yield error

    def _computed(self, rows: list[Any]) -> tuple[dict[int, Batched], Block]:
        """Make the calls before; answer all values, and those that are carried on."""
        known = dict(zip(self._inputs, leaves(self._computation.batch(rows)), strict=True))
        run_calls(self._phases.before, known, len(rows))
        return known, Block(len(rows), {number: known[number] for number in self._phases.carried if number in known})

    def _draw(self, what: Any) -> Drawn:
        if isinstance(what, Exception):
            raise what
        asked, block, place = what if isinstance(what, _Place) else (*self._computed([what]), 0)
        known = _OfRow(asked, place)
        for call in self._phases.in_order:
            args, kwargs = call.arguments(known)
            call.keep(OPERATIONS[call.name](*args, **kwargs), known)
        return Drawn(block, place, [known[number] for number in self._phases.made])


class _Place(NamedTuple):
    asked: dict[int, Batched]
    block: Block
    place: int
