"""Runs a trace for many rows at once.

A value of a trace is, for all rows together, either :class:`Stacked` (one array, rows along its first dimension) or
:class:`Rows` (one value for each row). An operation that has a rule (see :mod:`penstock.tf.batch_rules`) works on whole
stacks. All others are called row by row, so that any trace can be run; results of one shape are stacked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.tf.batch_rules import RULES, Batched, RecordRows, Rows, Stacked, stack_rows
from penstock.tf.operation import OPERATIONS
from penstock.tf.structure import leaves, map_structure
from penstock.tf.tensor import Tensor
from penstock.tf.tracing import Call, Trace, substituted


def run_batch(trace: Trace, count: int, *inputs: Batched) -> Any:
    """Run a trace for ``count`` rows; answer its outputs with :class:`Stacked` and :class:`Rows` as leaves.

    An error is that of some row. To raise it where it belongs, behind the rows before it, run the trace row by row.
    """
    known: dict[int, Any] = {symbol.number: value for symbol, value in zip(trace.inputs, inputs, strict=True)}
    for call in trace.calls:
        known[call.result.number] = _run_call(call, known, count)
    return map_structure(_readable, substituted(trace.outputs, known))


def row_of(outputs: Any, row: int) -> Any:
    """Answer one row of a batch's outputs, as the function would have answered it."""
    return map_structure(lambda leaf: _row_value(leaf, row), outputs)


def _run_call(call: Call, known: Mapping[int, Any], count: int) -> Any:
    args, kwargs = substituted((call.args, call.kwargs), known)
    if call.name == "item" and isinstance(args[0], dict):
        return args[0][args[1]]
    rule = RULES.get(call.name)
    if rule is not None and count and not any(isinstance(leaf, Rows) for leaf in leaves((args, kwargs))):
        result = rule(*args, **kwargs)
        if result is not NotImplemented:
            return result
    operation = OPERATIONS[call.name]
    args, kwargs = map_structure(_readable, (args, kwargs))
    results = []
    for row in range(count):
        row_args, row_kwargs = row_of((args, kwargs), row)
        results.append(operation(*row_args, **row_kwargs))
    return stack_rows(results)


def _row_value(value: Any, row: int) -> Any:
    if isinstance(value, Stacked):
        return Tensor(np.asarray(value.array[row], value.array.dtype))
    return value.values[row] if isinstance(value, Rows) else value


def _readable(value: Any) -> Any:
    return value.strings() if isinstance(value, RecordRows) else value
