"""Computes elements from rows through traced functions: many rows in one call, one by one where that fails."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, NamedTuple

from penstock.tf.data.node import (
    ELEMENTS,
    Dependencies,
    Node,
    RowFormat,
    arguments_of,
    call_user_function,
    result_as_element,
)
from penstock.tf.tensors.batch_values import broadcast_rows
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import UNKNOWN_SPEC, NoneTensorSpec, TensorSpec, spec_of
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tracing.infer_specs import spec_in, specs_of_results
from penstock.tf.tracing.recording import INPUT, Recording, Symbol, Untraceable
from penstock.tf.tracing.trace import Trace
from penstock.tf.tracing.vectorize import run_batch

# Elements requested one by one are computed in blocks that grow up to this size, so that the first comes at once.
_MAX_BLOCK_ROWS = 32


@dataclass(frozen=True)
class Computation:
    """A row format, and the traced functions that are applied to its elements."""

    row_format: RowFormat
    traces: tuple[Trace, ...] = ()

    def row(self, row: Any) -> Any:
        """Compute the element of one row."""
        element = self.row_format.element(row)
        for trace in self.traces:
            element = result_as_element(trace.run(*leaves(element)))
        return element

    def spec(self, known: Any) -> Any:
        """Return the specs of elements, given those of rows; UNKNOWN_SPEC at leaves of which nothing is known."""
        for trace in self.traces:
            known = None if known is None else specs_of_results(trace, known)
        return known

    def batch(self, rows: list[Any]) -> Any:
        """Compute many elements: a structure with the values of all rows at each leaf.

        An error may be that of any row; :meth:`checked_batch` raises that of the first.
        """
        values = self.row_format.batch(rows)
        for trace in self.traces:
            values = run_batch(trace, len(rows), *leaves(values))
            values = map_structure(lambda leaf: broadcast_rows(leaf, len(rows)), values)
        return map_structure(lambda leaf: broadcast_rows(leaf, len(rows)), values)

    def blocks(self, rows: Iterator[Any]) -> Iterator[tuple[list[Any], Exception | None]]:
        """Return blocks of rows that grow from one row, each with the error that came after its rows, or None."""
        size, max_size, more = 1, 1 if self.row_format.has_effects else _MAX_BLOCK_ROWS, True
        while more:
            block: list[Any] = []
            error: Exception | None = None
            try:
                block.extend(islice(rows, size))  # which adds the rows before an error
            except Exception as raised:
                error = raised
            more = len(block) == size or error is not None
            if block or error is not None:
                yield block, error
            size = min(2 * size, max_size)

    def checked_batch(self, rows: list[Any]) -> Any:
        """Compute many elements, and raise the error of the first row that has one."""
        try:
            return self.batch(rows)
        except Exception as error:
            fallback = RowFallback(error, len(rows))
            return ELEMENTS.batch([fallback.compute(self.row, row) for row in rows])

    def dependencies(self, upstream: Node) -> Dependencies | Node:
        """Return what the elements of a node's rows depend on."""
        elements: Dependencies | Node = upstream
        for trace in self.traces:
            elements = map_dependencies(elements, trace.function)
        return elements


def map_dependencies(upstream: Dependencies | Node, function: Callable[..., Any]) -> Dependencies:
    """Return what the results of a function depend on: the same for each way in which it is run."""
    return Dependencies("map", (upstream, function))


def trace_of(
    function: Callable[..., Any], structure: Any, known_spec: Callable[[], Any], *, effects: bool = False
) -> Trace:
    """Trace a function of elements.

    Args:
        function: The function.
        structure: The structure of elements, with :data:`INPUT` at each leaf.
        known_spec: Returns the specs of the elements, for functions that read shapes.
        effects: Also trace calls with effects, which the caller has to run in order.

    Raises:
        Untraceable: The function raises on symbols, whatever the error is.
    """

    def infer(recording: Recording, symbol: Symbol) -> Any:
        specs = known_spec()
        return None if specs is None else spec_in(recording, specs, symbol)

    def traced(*arguments: Any) -> Any:
        return result_as_element(call_user_function(function, *arguments))

    traced.__wrapped__ = function  # type: ignore[attr-defined]  # what a fingerprint depends on
    try:
        return Trace(traced, arguments_of(structure), effects=effects, infer=infer)
    except Untraceable:
        raise
    except Exception as error:
        raise Untraceable(f"{type(error).__name__}: {error}") from error


def result_spec(function: Callable[..., Any], known: Any) -> Any:
    """Return the specs of the results of an untraced function, as a trace infers them, or None."""
    try:
        trace = None if known is None else trace_of(function, inputs_like(known), lambda: known, effects=True)
        return None if trace is None else specs_of_results(trace, known)
    except Untraceable:
        return None


def inputs_like(structure: Any) -> Any:
    """Return a structure with :data:`INPUT` at each leaf, to trace functions of such elements; None with None in it."""
    if any(leaf is None or isinstance(leaf, NoneTensorSpec) for leaf in leaves(structure)):
        return None
    return map_structure(lambda _: INPUT, structure)


class ComputeNode(Node):
    """The elements of another node's rows."""

    row_format = ELEMENTS

    def __init__(self, upstream: Node, computation: Computation) -> None:
        self._upstream = upstream
        self._computation = computation
        self.cardinality = upstream.cardinality
        self.first_dim_varies = upstream.first_dim_varies
        self.ragged_components = frozenset() if computation.traces else upstream.ragged_components

    def rows(self) -> Iterator[Any]:
        rows = self._upstream.rows()
        if not self._computation.traces or self._computation.row_format.has_effects:
            return map(self._computation.row, rows)
        return _BlockIterator(rows, self._computation)

    def row_at(self, index: int) -> Any:
        return self._computation.row(self._upstream.row_at(index))

    def dependencies(self) -> Dependencies | Node:
        return self._computation.dependencies(self._upstream)

    def sample(self) -> Any:
        return self._computation.row(self._upstream.sample())

    def spec(self) -> Any:
        return self._computation.spec(self._upstream.spec())


class _BlockIterator:
    """Computes elements in blocks.

    Where a block fails, its rows are computed one by one: the error comes after the elements before it, and the
    iteration continues after it.
    """

    def __init__(self, rows: Iterator[Any], computation: Computation) -> None:
        self._blocks = computation.blocks(rows)
        self._computation = computation
        self._ready: deque[Any] = deque()
        self._failed: deque[FallbackRow] = deque()
        self._error: Exception | None = None

    def __iter__(self) -> _BlockIterator:
        return self

    def __next__(self) -> Any:
        while not self._ready and not self._failed:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            self._fill()
        if self._ready:
            return self._ready.popleft()
        return self._failed.popleft().compute(self._computation.row)

    def _fill(self) -> None:
        block, self._error = next(self._blocks)
        if not block:
            return
        try:
            values = self._computation.batch(block)
        except Exception as error:
            self._failed.extend(fallback_rows(block, error))
        else:
            self._ready.extend(elements_of(values, len(block)))


def elements_of(values: Any, count: int) -> list[Any]:
    """Split the values of many rows into the element of each."""
    columns = [broadcast_rows(leaf, count).each() for leaf in leaves(values)]
    return [filled(values, row) for row in zip(*columns, strict=True)]


def spec_of_elements(node: Node) -> Any:
    """Return the specs of elements: what is known of all, else the specs of one of them."""
    known = node.spec()
    if known is not None and UNKNOWN_SPEC not in leaves(known):
        return known
    inner = node.sample_node() if known is None else None
    inner_spec = None if inner is None else inner.spec()
    if inner_spec is not None and UNKNOWN_SPEC not in leaves(inner_spec):
        return inner_spec
    try:
        element = node.sample()
    except StopIteration:
        raise ValueError(
            "element_spec is not known: a function cannot be traced (see explain()), and there is no element to look at"
        ) from None
    found = map_structure(lambda leaf: _spec(leaf, first_dim_varies=node.first_dim_varies), element)
    if known is None:
        return found
    pairs = zip(leaves(known), leaves(found), strict=True)
    return filled(found, (_without_shape(one) if spec is UNKNOWN_SPEC else spec for spec, one in pairs))


def _without_shape(spec: Any) -> Any:
    """Return what the spec of one element says of all others."""
    return TensorSpec(None, spec.dtype) if isinstance(spec, TensorSpec) else spec


def _spec(leaf: Any, *, first_dim_varies: bool) -> Any:
    spec = spec_of(leaf)
    if first_dim_varies and isinstance(spec, TensorSpec) and spec.shape.rank:
        return TensorSpec(TensorShape([None]).concatenate(spec.shape[1:]), spec.dtype)
    return spec


class RowFallback:
    """Computes the rows of a block that failed.

    Where none of them fails, the batch computation has a bug. The values are right, only slow, and a warning asks to
    report it.
    """

    def __init__(self, error: Exception, rows: int) -> None:
        self._error: Exception | None = error
        self._remaining = rows

    def compute(self, function: Callable[[Any], Any], row: Any) -> Any:
        """Compute one row."""
        try:
            result = function(row)
        except Exception:
            self._error = None  # the block failed because of a row
            raise
        self._remaining -= 1
        if not self._remaining and self._error is not None:
            raised = f"{type(self._error).__name__}: {self._error}"
            warnings.warn(
                f"elements are computed one by one, because the computation of many at once raised {raised}. "
                "This is a bug in penstock.tf: please report it",
                RuntimeWarning,
                stacklevel=2,
            )
        return result


class FallbackRow(NamedTuple):
    """A row of a block that failed, which is computed by itself."""

    row: Any
    fallback: RowFallback

    def compute(self, function: Callable[[Any], Any]) -> Any:
        """Compute the row."""
        return self.fallback.compute(function, self.row)


def fallback_rows(rows: list[Any], error: Exception) -> Iterator[FallbackRow]:
    """Return the rows of a block that failed with an error."""
    return map(FallbackRow, rows, repeat(RowFallback(error, len(rows))))
