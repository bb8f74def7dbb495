"""Functions that cannot be traced to their end: what they begin with is computed for many elements at once.

A function that parses a record and then asks a question of a tensor is traced up to the question. That beginning is run
for a block of rows. Then the function is called for each element, as it stands, and where it makes a call of the
beginning on the same arguments, it is handed the result that is there already.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import repeat
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.data.compute import Computation, RowFallback, elements_of, spec_behind
from penstock.tf.data.node import ELEMENTS, Node, arguments_of, as_answer, call_function
from penstock.tf.registry import OPERATIONS, recorder
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.structure import leaves
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import Recording, Symbol, substituted
from penstock.tf.tracing.vectorize import run_calls


class Beginning:
    """The calls that a function begins with, whatever the values are."""

    def __init__(self, function: Callable[..., Any], structure: Any) -> None:
        recording = Recording(arguments_of(structure))
        # Whatever stops it, what came before is the beginning.
        with contextlib.suppress(Exception):
            recording.run(function)
        self.calls = recording.calls
        self.inputs = [symbol.number for symbol in recording.inputs]

    def run(self, count: int, found: Any) -> list[list[Any]]:
        """Compute the results of all calls for many rows; answer, for each row, those of each call."""
        known = dict(zip(self.inputs, leaves(found), strict=True))
        run_calls(self.calls, known, count)
        return elements_of(substituted([call.result for call in self.calls], known), count)


class Replay:
    """Hands a function the results of its beginning, for one element."""

    __slots__ = ("_calls", "_known", "_next", "_results")

    def __init__(self, beginning: Beginning, element: Any, results: list[Any]) -> None:
        self._calls = iter(beginning.calls)
        self._results = iter(results)
        self._next = next(self._calls)
        # The values that stand for symbols: an argument is the same if it is the very same object.
        self._known = dict(zip(beginning.inputs, leaves(element), strict=True))

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what is there already; or make the call, and all that follow."""
        call = self._next
        if call.name == name and self._equal(call.args, args) and self._equal(call.kwargs, kwargs):
            result = next(self._results)
            call.keep(result, self._known)
            following = next(self._calls, None)
            if following is None:
                recorder.set(None)  # for the rest of this element
            else:
                self._next = following
            return result
        if self._holds_ours(args) or self._holds_ours(kwargs):
            recorder.set(None)
            return OPERATIONS[name].function(*args, **kwargs)
        return _made(name, args, kwargs)  # of constants, which are not of the beginning

    def _holds_ours(self, arguments: Any) -> bool:
        tensors = [leaf for leaf in leaves(arguments) if isinstance(leaf, Tensor | RaggedTensor | SparseTensor)]
        return bool(tensors) and not set(map(id, tensors)).isdisjoint(map(id, self._known.values()))

    def _equal(self, recorded: Any, given: Any) -> bool:
        if recorded is given:
            return True
        kind = type(recorded)
        if kind is Symbol:
            return self._known.get(recorded.number) is given
        if kind is not type(given) or isinstance(recorded, Tensor | np.ndarray):
            return False
        if kind is dict:
            if list(recorded) != list(given):
                return False
            # A description of features is made of the same objects each time, as a rule.
            same = all(map(is_, recorded.values(), given.values()))
            return same or all(map(self._equal, recorded.values(), given.values()))
        if isinstance(recorded, list | tuple):
            return len(recorded) == len(given) and all(map(self._equal, recorded, given))
        return bool(recorded == given)


def _made(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    token = recorder.set(None)
    try:
        return OPERATIONS[name].function(*args, **kwargs)
    finally:
        recorder.reset(token)


class PartialTraceNode(Node):
    """What a function answers, called for each element, with its beginning computed in blocks."""

    origin = ELEMENTS

    def __init__(
        self, before: Node, computation: Computation, function: Callable[..., Any], beginning: Beginning
    ) -> None:
        self._before = before
        self._computation = computation
        self._function = function
        self._beginning = beginning
        self.cardinality = before.cardinality
        self.varying_first = before.varying_first

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        return map(self._answer, self._prepared(self._before.rows()))

    def sample(self) -> Any:
        """Call the function once."""
        return self._call_alone(self._before.sample())

    def spec(self) -> Any:
        """Return what a trace of the function tells, where it can be traced but for random values."""
        return spec_behind(self._function, self._computation.spec(self._before.spec()))

    def _prepared(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Give elements, each with the results of its beginning; where a block of them fails, its rows; and errors."""
        for block, error in self._computation.blocks(rows):
            try:
                found = self._computation.batch(block)
                results = self._beginning.run(len(block), found)
            except Exception as failure:
                yield from map(_AloneReplayed, block, repeat(RowFallback(failure, len(block))))
            else:
                yield from zip(elements_of(found, len(block)), results, strict=True)
            if error is not None:
                yield error

    def _answer(self, prepared: Any) -> Any:
        if isinstance(prepared, Exception):
            raise prepared
        if isinstance(prepared, _AloneReplayed):
            return prepared.block.compute(self._call_alone, prepared.row)
        element, results = prepared
        token = recorder.set(Replay(self._beginning, element, results))
        try:
            answer = call_function(self._function, *arguments_of(element))
        finally:
            recorder.reset(token)
        return as_answer(answer)

    def _call_alone(self, row: Any) -> Any:
        return self._call(self._computation.row(row))

    def _call(self, element: Any) -> Any:
        return as_answer(call_function(self._function, *arguments_of(element)))


class _AloneReplayed(NamedTuple):
    """A row whose element is computed by itself."""

    row: Any
    block: RowFallback
