"""Functions that are traced, but for calls with effects: these are made for each element, in order.

A Python function may count its calls, and random values go on from element to element. Such calls are made when an
element is drawn, and what lies between them. What they need, parsing above all, is computed before, for a block of
rows. All else waits until elements are wanted, as in any traced function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.data.compute import Computation, RowFallback, trace_of
from penstock.tf.data.node import Node, as_answer, call_function
from penstock.tf.ops.random_state import FunctionState
from penstock.tf.registry import OPERATIONS
from penstock.tf.tensors.batch_values import BatchValue, RowValues, end_to_end, stack_rows
from penstock.tf.tensors.structure import leaves
from penstock.tf.tracing.infer_specs import specs_of_results
from penstock.tf.tracing.recording import Call, Symbol, Untraceable
from penstock.tf.tracing.trace import Fork, Stretch, Trace
from penstock.tf.tracing.vectorize import finish_batch, run_calls


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


class ComputedRows(NamedTuple):
    """What was computed ahead for some rows, by the numbers of symbols."""

    rows: int
    values: dict[int, BatchValue]


class Drawn(NamedTuple):
    """A row whose calls with effects have been made."""

    block: ComputedRows
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

    def __init__(self, values: dict[int, BatchValue], place: int) -> None:
        self._values = values
        self._place = place

    def __missing__(self, number: int) -> Any:
        value = self[number] = self._values[number].row(self._place)
        return value


class _OfRows(dict[int, Any]):
    """The values of rows of several blocks, gathered when they are asked for."""

    def __init__(self, rows: list[Drawn]) -> None:
        self._blocks: list[ComputedRows] = []
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


class OrderedEffectsNode(Node):
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
        """Return what the trace tells."""
        known = self._computation.spec(self._before.spec())
        return None if known is None else specs_of_results(self._trace, known)

    def _ahead(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Give the places of rows in blocks; where a block of them fails, its rows; and errors."""
        for some, error in self._computation.blocks(rows):
            try:
                asked, block = self._computed(some)
            except Exception as failure:
                yield from map(_Alone, some, repeat(RowFallback(failure, len(some))))
            else:
                for place in range(len(some)):
                    yield _Place(asked, block, place)
            if error is not None:
                yield error

    def _computed(self, rows: list[Any]) -> tuple[dict[int, BatchValue], ComputedRows]:
        """Make the calls before; answer all values, and those that are carried on."""
        known = dict(zip(self._inputs, leaves(self._computation.batch(rows)), strict=True))
        run_calls(self._phases.before, known, len(rows))
        return known, ComputedRows(len(rows), {number: known[number] for number in self._phases.carried})

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
        carried = {number: RowValues([known[number]]) for number in self._phases.carried}
        return self._drawn(known, ComputedRows(1, dict[int, BatchValue](carried)), 0)

    def _drawn(self, known: dict[int, Any], block: ComputedRows, place: int) -> Drawn:
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
        call.keep(OPERATIONS[call.name].function(*args, **kwargs), known)


class _Alone(NamedTuple):
    """A row that is computed by itself."""

    row: Any
    block: RowFallback


class _Place(NamedTuple):
    asked: dict[int, BatchValue]
    block: ComputedRows
    place: int


class InTurn(NamedTuple):
    """Calls that are made for each row in its turn; behind them there may be a condition, and others by its answer."""

    calls: list[Call]
    question: int | None = None
    yes: InTurn | None = None
    no: InTurn | None = None

    def following(self, known: Mapping[int, Any]) -> InTurn | None:
        """Return what comes next for a row."""
        if self.question is None:
            return None
        return self.yes if known[self.question] else self.no


class Phases(NamedTuple):
    """The calls of a trace."""

    before: list[Call]
    """What those in order need: for a block of rows, ahead."""
    in_order: InTurn
    """Those with effects, what lies between them, and the conditions that decide on them: for each row in its turn."""
    behind: Stretch
    """All others: for many rows at once, when elements are wanted."""
    carried: frozenset[int]
    """The symbols that the last ones ask for, of inputs and of calls before."""
    made: frozenset[int]
    """And of calls in order, on any way."""

    def effects(self) -> str:
        """Name the operations with effects."""
        calls = _all_calls(self.in_order)
        return ", ".join(dict.fromkeys(f"tf.{call.name}" for call in calls if call.has_effects))


def phases_of(trace: Trace) -> Phases:
    """Part the calls of a trace."""
    in_turn, behind, _ = _parted(trace.start)
    in_turn = in_turn or InTurn([])
    # Of what is made in each row's turn, all that depends on no effect could be made before, up to the first condition.
    before, late, made = list[Call](), list[Call](), set[int]()
    for call in in_turn.calls:
        if call.has_effects or not made.isdisjoint(asked_by(call)):
            late.append(call)
            made.update(call.numbers)
        else:
            before.append(call)
    in_turn = in_turn._replace(calls=late)
    early = {symbol.number for symbol in trace.inputs}.union(*(call.numbers for call in before))
    later = {number for call in _all_calls(in_turn) for number in call.numbers}
    asked = _asked_behind(behind)
    return Phases(before, in_turn, behind, frozenset(asked & early), frozenset(asked & later))


def _parted(stretch: Stretch) -> tuple[InTurn | None, Stretch, set[int]]:
    """Return the calls of a stretch, and of all behind it, that are made in turn; the others; what the first need."""
    calls, end = stretch
    needed: set[int] = set()
    following = InTurn([])
    if isinstance(end, Fork):
        (yes, yes_behind, of_yes), (no, no_behind, of_no) = _parted(end.yes), _parted(end.no)
        if yes or no:
            needed = of_yes | of_no | {end.question.symbol.number}
            following = InTurn([], end.question.symbol.number, yes, no)
        end = end._replace(yes=yes_behind, no=no_behind)
    in_turn: set[int] = set()  # places of calls
    for place in reversed(range(len(calls))):
        if calls[place].has_effects or not needed.isdisjoint(calls[place].numbers):
            in_turn.add(place)
            needed |= asked_by(calls[place])
    others = Stretch([call for place, call in enumerate(calls) if place not in in_turn], end)
    if not in_turn and following.question is None:
        return None, others, needed
    return following._replace(calls=[calls[place] for place in sorted(in_turn)]), others, needed


def asked_by(structure: Any) -> set[int]:
    """Return the numbers of the symbols that a call asks for, or that are in a structure."""
    parts = (structure.args, structure.kwargs) if isinstance(structure, Call) else structure
    return {leaf.number for leaf in leaves(parts) if isinstance(leaf, Symbol)}


def _asked_behind(stretch: Stretch) -> set[int]:
    """Return the symbols that a stretch and all behind it ask for; some may be its own."""
    asked = {number for call in stretch.calls for number in asked_by(call)}
    if isinstance(stretch.end, Fork):
        question, yes, no, settled = stretch.end
        return asked | {question.symbol.number, *settled.values()} | _asked_behind(yes) | _asked_behind(no)
    return asked | asked_by(stretch.end)


def _all_calls(steps: InTurn | None) -> list[Call]:
    return [] if steps is None else [*steps.calls, *_all_calls(steps.yes), *_all_calls(steps.no)]
