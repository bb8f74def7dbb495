"""Traced functions with effects: calls with effects are made for each element in order, all others in batches.

A Python function may count its calls, and random values continue from element to element. A trace is split into three
phases. What the calls with effects need, parsing above all, is computed ahead for a block of rows. The calls with
effects, and those between them, are made when a row is drawn. All others wait until elements are requested, as in any
traced function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.data.node import Dependencies, Node, call_user_function, result_as_element
from penstock.tf.data.traced_functions import Computation, FallbackRow, fallback_rows, map_dependencies, trace_of
from penstock.tf.ops.random_state import FunctionState
from penstock.tf.registry import OPERATIONS
from penstock.tf.tensors.batch_values import BatchValue, RowValues, concat_rows, stack_rows
from penstock.tf.tensors.structure import leaves
from penstock.tf.tracing.infer_specs import specs_of_results
from penstock.tf.tracing.recording import Call, Symbol, Untraceable
from penstock.tf.tracing.trace import Fork, Segment, Trace
from penstock.tf.tracing.vectorize import finish_batch, run_calls


def trace_with_effects(
    function: Callable[..., Any], structure: Any, known_spec: Callable[[], Any]
) -> tuple[Trace, Phases] | None:
    """Trace a function with calls that have effects; None where it cannot be traced."""
    try:
        trace = trace_of(function, structure, known_spec, effects=True)
    except Untraceable:
        return None
    # Branches that are not recorded yet may have effects, too.
    return None if trace.open or trace.reasons else (trace, split_phases(trace))


class ComputedBlock(NamedTuple):
    """The values that were computed ahead for a block of rows, by symbol number."""

    rows: int
    values: dict[int, BatchValue]


class DrawnRow(NamedTuple):
    """A row whose calls with effects have been made."""

    block: ComputedBlock
    position: int
    results: dict[int, Any]
    """The results of these calls, by symbol number."""


class DrawnRowFormat:
    """Makes elements of drawn rows by the rest of a trace."""

    has_effects = True

    def __init__(self, trace: Trace, phases: Phases) -> None:
        self._trace = trace
        self._phases = phases

    def element(self, row: DrawnRow) -> Any:
        """Compute the rest for one row."""
        known = _RowValuesByNumber(row.block.values, row.position)
        known.update(row.results)
        return result_as_element(self._trace.finish(self._phases.deferred, known))

    def batch(self, rows: list[DrawnRow]) -> Any:
        """Compute the rest for many rows, column by column."""
        return finish_batch(self._trace, self._phases.deferred, _GatheredValuesByNumber(rows), len(rows))


class _RowValuesByNumber(dict[int, Any]):
    """The values of one row of a block, computed on first use."""

    def __init__(self, values: dict[int, BatchValue], position: int) -> None:
        self._values = values
        self._position = position

    def __missing__(self, number: int) -> Any:
        value = self[number] = self._values[number].row(self._position)
        return value


class _GatheredValuesByNumber(dict[int, Any]):
    """The values of rows from several blocks, gathered on first use."""

    def __init__(self, rows: list[DrawnRow]) -> None:
        self._blocks: list[ComputedBlock] = []
        offsets: dict[int, int] = {}  # of each block, by its identity
        count = 0
        for block, _, _ in rows:
            if id(block) not in offsets:
                offsets[id(block)] = count
                count += block.rows
                self._blocks.append(block)
        self._rows = rows
        self._positions = np.array([offsets[id(block)] + position for block, position, _ in rows], np.intp)

    def __missing__(self, number: int) -> Any:
        if number in self._blocks[0].values:
            value: Any = concat_rows([block.values[number] for block in self._blocks]).pick(self._positions)
        else:  # rows that took another branch have no result
            value = stack_rows([row.results.get(number) for row in self._rows])
        self[number] = value
        return value


class OrderedEffectsNode(Node):
    """The rows of another node, each with the results of its calls with effects."""

    def __init__(self, upstream: Node, computation: Computation, trace: Trace, phases: Phases) -> None:
        self._upstream = upstream
        self._computation = computation
        self._trace = trace
        self._phases = phases
        self._inputs = [symbol.number for symbol in trace.inputs]
        self._random = FunctionState()
        self.row_format = DrawnRowFormat(trace, phases)
        self.calls_python = any(OPERATIONS[call.name].effects == "python" for call in _all_calls(phases.ordered))
        self.cardinality = upstream.cardinality
        self.first_dim_varies = upstream.first_dim_varies

    def rows(self) -> Iterator[Any]:
        return map(self._draw, self._prepare(self._upstream.rows()))

    def row_at(self, index: int) -> DrawnRow:
        return self._draw_alone(self._upstream.row_at(index))

    def dependencies(self) -> Dependencies:
        return map_dependencies(self._computation.dependencies(self._upstream), self._trace.function)

    def sample(self) -> DrawnRow:
        return self._draw_alone(self._upstream.sample())

    def spec(self) -> Any:
        known = self._computation.spec(self._upstream.spec())
        return None if known is None else specs_of_results(self._trace, known)

    def _prepare(self, rows: Iterator[Any]) -> Iterator[_BlockRow | FallbackRow | Exception]:
        """Compute what calls with effects need; return each row of a block, and errors in their places."""
        for rows_of_block, error in self._computation.blocks(rows):
            try:
                known, block = self._compute_block(rows_of_block)
            except Exception as failure:
                yield from fallback_rows(rows_of_block, failure)
            else:
                for position in range(len(rows_of_block)):
                    yield _BlockRow(known, block, position)
            if error is not None:
                yield error

    def _compute_block(self, rows: list[Any]) -> tuple[dict[int, BatchValue], ComputedBlock]:
        """Return all values that are computed ahead, and the block of those that deferred calls use."""
        known = dict(zip(self._inputs, leaves(self._computation.batch(rows)), strict=True))
        run_calls(self._phases.ahead, known, len(rows))
        return known, ComputedBlock(len(rows), {number: known[number] for number in self._phases.block_symbols})

    def _draw(self, prepared: _BlockRow | FallbackRow | Exception) -> DrawnRow:
        if isinstance(prepared, Exception):
            raise prepared
        if isinstance(prepared, FallbackRow):
            row: DrawnRow = prepared.compute(self._draw_alone)
            return row
        known, block, position = prepared
        return self._call_in_order(_RowValuesByNumber(known, position), block, position)

    def _draw_alone(self, row: Any) -> DrawnRow:
        known = dict(zip(self._inputs, leaves(self._computation.row(row)), strict=True))
        _run_for_row(self._phases.ahead, known)
        values = {number: RowValues([known[number]]) for number in self._phases.block_symbols}
        return self._call_in_order(known, ComputedBlock(1, dict[int, BatchValue](values)), 0)

    def _call_in_order(self, known: dict[int, Any], block: ComputedBlock, position: int) -> DrawnRow:
        """Make the calls with effects, and those between them."""
        ordered: OrderedCalls | None = self._phases.ordered
        with self._random.call():
            while ordered is not None:
                call_user_function(_run_for_row, ordered.calls, known)
                ordered = ordered.following(known)
        results = {number: known[number] for number in self._phases.ordered_symbols if number in known}
        return DrawnRow(block, position, results)


def _run_for_row(calls: list[Call], known: dict[int, Any]) -> None:
    """Make calls for one row."""
    for call in calls:
        args, kwargs = call.arguments(known)
        call.store(OPERATIONS[call.name].function(*args, **kwargs), known)


class _BlockRow(NamedTuple):
    known: dict[int, BatchValue]
    block: ComputedBlock
    position: int


class OrderedCalls(NamedTuple):
    """Calls that are made for each row in order; a condition may follow, with further calls on both branches."""

    calls: list[Call]
    condition: int | None = None
    yes: OrderedCalls | None = None
    no: OrderedCalls | None = None

    def following(self, known: Mapping[int, Any]) -> OrderedCalls | None:
        """Return the calls that follow for a row."""
        if self.condition is None:
            return None
        return self.yes if known[self.condition] else self.no


class Phases(NamedTuple):
    """The calls of a trace, by when they are made."""

    ahead: list[Call]
    """Calls that ordered ones depend on: for a block of rows, ahead."""
    ordered: OrderedCalls
    """Calls with effects, those between them, and the conditions they depend on: for each row, in order."""
    deferred: Segment
    """All others: for many rows at once, when elements are requested."""
    block_symbols: frozenset[int]
    """The inputs, and results of calls ahead, that deferred calls use."""
    ordered_symbols: frozenset[int]
    """The results of ordered calls, on any branch, that deferred calls use."""

    def effects(self) -> str:
        """Return the names of the operations with effects."""
        calls = _all_calls(self.ordered)
        return ", ".join(dict.fromkeys(f"tf.{call.name}" for call in calls if call.has_effects))


def split_phases(trace: Trace) -> Phases:
    """Split the calls of a trace into phases."""
    ordered, deferred, _ = _split(trace.start)
    ordered = ordered or OrderedCalls([])
    # Of the calls before the first condition, those that depend on no effect can be made ahead.
    ahead, late, results = list[Call](), list[Call](), set[int]()
    for call in ordered.calls:
        if call.has_effects or not results.isdisjoint(symbols_used_by(call)):
            late.append(call)
            results.update(call.numbers)
        else:
            ahead.append(call)
    ordered = ordered._replace(calls=late)
    known_ahead = {symbol.number for symbol in trace.inputs}.union(*(call.numbers for call in ahead))
    known_later = {number for call in _all_calls(ordered) for number in call.numbers}
    used = _symbols_used_in(deferred)
    return Phases(ahead, ordered, deferred, frozenset(used & known_ahead), frozenset(used & known_later))


def _split(segment: Segment) -> tuple[OrderedCalls | None, Segment, set[int]]:
    """Return the ordered calls of a segment and all that follow it, the other calls, and what the ordered ones use."""
    calls, end = segment
    needed: set[int] = set()
    following = OrderedCalls([])
    if isinstance(end, Fork):
        (yes, yes_deferred, yes_needed), (no, no_deferred, no_needed) = _split(end.yes), _split(end.no)
        if yes or no:
            needed = yes_needed | no_needed | {end.condition.symbol.number}
            following = OrderedCalls([], end.condition.symbol.number, yes, no)
        end = end._replace(yes=yes_deferred, no=no_deferred)
    ordered: set[int] = set()  # indices of calls
    for index in reversed(range(len(calls))):
        if calls[index].has_effects or not needed.isdisjoint(calls[index].numbers):
            ordered.add(index)
            needed |= symbols_used_by(calls[index])
    others = Segment([call for index, call in enumerate(calls) if index not in ordered], end)
    if not ordered and following.condition is None:
        return None, others, needed
    return following._replace(calls=[calls[index] for index in sorted(ordered)]), others, needed


def symbols_used_by(structure: Any) -> set[int]:
    """Return the numbers of the symbols in the arguments of a call, or in a structure."""
    parts = (structure.args, structure.kwargs) if isinstance(structure, Call) else structure
    return {leaf.number for leaf in leaves(parts) if isinstance(leaf, Symbol)}


def _symbols_used_in(segment: Segment) -> set[int]:
    """Return the symbols that a segment and all that follow it use, including its own results."""
    used = {number for call in segment.calls for number in symbols_used_by(call)}
    if isinstance(segment.end, Fork):
        condition, yes, no, settled = segment.end
        return used | {condition.symbol.number, *settled.values()} | _symbols_used_in(yes) | _symbols_used_in(no)
    return used | symbols_used_by(segment.end)


def _all_calls(ordered: OrderedCalls | None) -> list[Call]:
    return [] if ordered is None else [*ordered.calls, *_all_calls(ordered.yes), *_all_calls(ordered.no)]
