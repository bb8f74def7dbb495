"""Runs a trace for many rows at once.

A value of a trace is, for all rows, either :class:`Stacked` (one array, rows along its first dimension) or
:class:`RowValues` (one value per row). An operation with a batch rule works on whole stacks. All others are called row
by row, so that any trace can run; results of one shape are stacked again. At a condition the rows are partitioned: each
part runs its own branch, and the results are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.tf.registry import OPERATIONS
from penstock.tf.tensors.batch_values import (
    BatchValue,
    RowValues,
    Stacked,
    broadcast_rows,
    merge_rows,
    stack_rows,
    with_strings,
)
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tracing.recording import Call, Symbol, substituted
from penstock.tf.tracing.trace import Fork, Segment, Trace, Unexplored, Untraced


def run_batch(trace: Trace, count: int, *inputs: BatchValue) -> Any:
    """Run a trace for ``count`` rows; return its outputs with :class:`Stacked` and :class:`RowValues` as leaves.

    An error is the error of one row. To raise it after the rows before that one, run the trace row by row.
    """
    while True:
        known = {symbol.number: value for symbol, value in zip(trace.inputs, inputs, strict=True)}
        try:
            return finish_batch(trace, trace.start, known, count)
        except _UnexploredPathError as unexplored:  # once per path, and there are few
            trace.explore(unexplored.path)


def finish_batch(trace: Trace, segment: Segment, known: dict[int, Any], count: int) -> Any:
    """Run the rest of a trace for ``count`` rows, given the values of symbols so far."""
    places = range(sum(1 for _ in leaves(trace.outputs)))
    return filled(trace.outputs, _run(trace, segment, known, places, count))


class _UnexploredPathError(Exception):
    def __init__(self, path: Unexplored) -> None:
        self.path = path


def run_calls(calls: Sequence[Call], known: dict[int, Any], count: int) -> None:
    """Run calls for ``count`` rows, and add their results to the values of symbols in ``known``."""
    for call in calls:
        call.store(_result(call, known, count), known)


def row_of(outputs: Any, row: int) -> Any:
    """Return one row of a batch's outputs, as the function would return it for that row."""
    return map_structure(lambda leaf: leaf.row(row) if isinstance(leaf, Stacked | RowValues) else leaf, outputs)


def _run(trace: Trace, segment: Segment, known: dict[int, Any], wanted: Sequence[int], count: int) -> list[Any]:
    """Return the wanted outputs."""
    run_calls(segment.calls, known, count)
    match segment.end:
        case Fork():
            found = {place: with_strings(known[number]) for place, number in segment.end.settled.items()}
            others = [place for place in wanted if place not in found]
            found |= zip(others, _run_fork(trace, segment.end, known, others, count), strict=True)
            return [found[place] for place in wanted]
        case Unexplored():
            raise _UnexploredPathError(segment.end)
        case Untraced():
            return _run_function(trace, known, wanted, count)
        case outputs:
            return [with_strings(substituted(outputs[place], known)) for place in wanted]


def _run_fork(trace: Trace, fork: Fork, known: dict[int, Any], wanted: Sequence[int], count: int) -> list[Any]:
    holds = _truths(with_strings(known[fork.condition.symbol.number]), count)
    if holds.all() or not holds.any():
        return _run(trace, fork.yes if holds.any() else fork.no, known, wanted, count)
    parts = []
    for branch, rows in ((fork.yes, np.flatnonzero(holds)), (fork.no, np.flatnonzero(~holds))):
        values = _run(trace, branch, _Picked(known, rows), wanted, len(rows))
        parts.append([(rows, broadcast_rows(value, len(rows))) for value in values])
    return [merge_rows(outputs, count) for outputs in zip(*parts, strict=True)]


class _Picked(dict[int, Any]):
    """The values of symbols for some of the rows, selected on first use."""

    def __init__(self, known: dict[int, Any], rows: NDArray[np.intp]) -> None:
        self._known = known
        self._rows = rows

    def __missing__(self, number: int) -> Any:
        value = self[number] = self._known[number].pick(self._rows)
        return value


def _run_function(trace: Trace, known: Mapping[int, Any], wanted: Sequence[int], count: int) -> list[Any]:
    """Call the function itself for each row."""
    arguments = map_structure(with_strings, substituted(trace.arguments, known))
    results = [list(leaves(trace.function(*row_of(arguments, row)))) for row in range(count)]
    return [stack_rows([result[place] for result in results]) for place in wanted]


def _truths(condition: Stacked | RowValues, count: int) -> NDArray[np.bool_]:
    if isinstance(condition, Stacked) and condition.array.size == count and condition.array.dtype == np.bool_:
        return condition.array.reshape(count)
    return np.array([bool(value) for value in condition.each()], np.bool_)


def _result(call: Call, known: Mapping[int, Any], count: int) -> Any:
    args, kwargs = call.arguments(known)
    operation = OPERATIONS[call.name]
    rule = operation.batch
    if not operation.takes_stored_strings:
        args, kwargs = map_structure(with_strings, (args, kwargs))
    if rule is not None and count and not any(isinstance(leaf, RowValues) for leaf in leaves((args, kwargs))):
        result = rule(operation.function, *args, **kwargs)
        if result is not NotImplemented:
            return result
    columns = [_column(arg, count) for arg in args]
    named = {key: _column(arg, count) for key, arg in kwargs.items()}
    results = _call_rows(operation.function, columns, named, count)
    if isinstance(call.result, Symbol):
        return stack_rows(results)
    return [stack_rows(list(parts)) for parts in zip(*map(leaves, results), strict=True)]


def _call_rows(function: Any, columns: list[list[Any]], named: dict[str, list[Any]], count: int) -> list[Any]:
    """Call a function row by row."""
    rows = zip(*columns, strict=True) if columns else repeat((), count)
    if not named:
        return [function(*args) for args in rows]
    options = (dict(zip(named, values, strict=True)) for values in zip(*named.values(), strict=True))
    return [function(*args, **kwargs) for args, kwargs in zip(rows, options, strict=True)]


def _column(argument: Any, count: int) -> list[Any]:
    """Return the argument of each row."""
    values = map_structure(with_strings, argument)
    if isinstance(values, Stacked | RowValues):
        return values.each()
    if any(isinstance(leaf, Stacked | RowValues) for leaf in leaves(values)):
        return [row_of(values, row) for row in range(count)]
    return [argument] * count
