"""Functions that can be traced only up to a point: the calls before it are computed for many elements at once.

A function that parses a record and then reads the value of a tensor is traced up to there. This prefix is run for a
block of rows. Then the function is called for each element, and where it makes a call of the prefix with the same
arguments, it gets the result that was already computed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from operator import is_
from typing import Any

import numpy as np

from penstock.tf.data.node import ELEMENTS, Dependencies, Node, arguments_of, call_user_function, result_as_element
from penstock.tf.data.traced_functions import (
    Computation,
    FallbackRow,
    elements_of,
    fallback_rows,
    map_dependencies,
    result_spec,
)
from penstock.tf.registry import OPERATIONS, recorder
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.structure import leaves
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import Recording, Symbol, substituted
from penstock.tf.tracing.vectorize import run_calls


class TracedPrefix:
    """The calls that a function starts with, whatever the values are."""

    def __init__(self, function: Callable[..., Any], structure: Any) -> None:
        recording = Recording(arguments_of(structure))
        # Whatever stops it, the calls before belong to the prefix.
        with contextlib.suppress(Exception):
            recording.run(function)
        self.calls = recording.calls
        self.inputs = [symbol.number for symbol in recording.inputs]

    def run(self, count: int, values: Any) -> list[list[Any]]:
        """Compute the calls for many rows, and return the results of all calls for each row."""
        known = dict(zip(self.inputs, leaves(values), strict=True))
        run_calls(self.calls, known, count)
        return elements_of(substituted([call.result for call in self.calls], known), count)


class Replay:
    """Returns the results of a prefix to the function, for one element."""

    __slots__ = ("_calls", "_known", "_next", "_results")

    def __init__(self, prefix: TracedPrefix, element: Any, results: list[Any]) -> None:
        self._calls = iter(prefix.calls)
        self._results = iter(results)
        self._next = next(self._calls)
        # The values of symbols: an argument is the same if it is the same object.
        self._known = dict(zip(prefix.inputs, leaves(element), strict=True))

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the computed result; or make the call, and stop replaying."""
        call = self._next
        if call.name == name and self._equal(call.args, args) and self._equal(call.kwargs, kwargs):
            result = next(self._results)
            call.store(result, self._known)
            following = next(self._calls, None)
            if following is None:
                recorder.set(None)  # for the rest of this element
            else:
                self._next = following
            return result
        if self._uses_known(args) or self._uses_known(kwargs):
            recorder.set(None)
            return OPERATIONS[name].function(*args, **kwargs)
        return _call_unrecorded(name, args, kwargs)  # of constants: such calls are not in the prefix

    def _uses_known(self, arguments: Any) -> bool:
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
            # A description of features usually contains the same objects each time.
            same = all(map(is_, recorded.values(), given.values()))
            return same or all(map(self._equal, recorded.values(), given.values()))
        if isinstance(recorded, list | tuple):
            return len(recorded) == len(given) and all(map(self._equal, recorded, given))
        return bool(recorded == given)


def _call_unrecorded(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    token = recorder.set(None)
    try:
        return OPERATIONS[name].function(*args, **kwargs)
    finally:
        recorder.reset(token)


class PartialTraceNode(Node):
    """The results of a function that is called for each element, with its prefix computed in blocks."""

    row_format = ELEMENTS

    def __init__(
        self, upstream: Node, computation: Computation, function: Callable[..., Any], prefix: TracedPrefix
    ) -> None:
        self._upstream = upstream
        self._computation = computation
        self._function = function
        self._prefix = prefix
        self.cardinality = upstream.cardinality
        self.first_dim_varies = upstream.first_dim_varies

    def rows(self) -> Iterator[Any]:
        return map(self._replay, self._prepare(self._upstream.rows()))

    def row_at(self, index: int) -> Any:
        return self._call_alone(self._upstream.row_at(index))

    def dependencies(self) -> Dependencies:
        return map_dependencies(self._computation.dependencies(self._upstream), self._function)

    def sample(self) -> Any:
        return self._call_alone(self._upstream.sample())

    def spec(self) -> Any:
        return result_spec(self._function, self._computation.spec(self._upstream.spec()))

    def _prepare(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Return each element with the results of its prefix; rows of a block that failed; errors in their places."""
        for block, error in self._computation.blocks(rows):
            try:
                values = self._computation.batch(block)
                results = self._prefix.run(len(block), values)
            except Exception as failure:
                yield from fallback_rows(block, failure)
            else:
                yield from zip(elements_of(values, len(block)), results, strict=True)
            if error is not None:
                yield error

    def _replay(self, prepared: Any) -> Any:
        if isinstance(prepared, Exception):
            raise prepared
        if isinstance(prepared, FallbackRow):
            return prepared.compute(self._call_alone)
        element, results = prepared
        token = recorder.set(Replay(self._prefix, element, results))
        try:
            result = call_user_function(self._function, *arguments_of(element))
        finally:
            recorder.reset(token)
        return result_as_element(result)

    def _call_alone(self, row: Any) -> Any:
        element = self._computation.row(row)
        return result_as_element(call_user_function(self._function, *arguments_of(element)))
