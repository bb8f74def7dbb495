"""Rows to elements, through functions that were traced: many rows in one call."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

from penstock.tf.data.node import ELEMENTS, Node, Origin, arguments_of, as_answer, call_function
from penstock.tf.tensors.batch_values import for_all
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import UNKNOWN_SPEC, TensorSpec, spec_of
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tracing.infer_specs import spec_in, specs_of_results
from penstock.tf.tracing.recording import INPUT, Recording, Symbol, Untraceable
from penstock.tf.tracing.trace import Trace
from penstock.tf.tracing.vectorize import run_batch

# Elements that are asked for one by one are computed in blocks, which grow: the first ones come at once.
_MOST_AHEAD = 32


@dataclass(frozen=True)
class Computation:
    """An origin's rows, and the traced functions that make elements of them."""

    origin: Origin
    traces: tuple[Trace, ...] = ()

    def row(self, row: Any) -> Any:
        """Compute the element of one row."""
        element = self.origin.element(row)
        for trace in self.traces:
            element = as_answer(trace.run(*leaves(element)))
        return element

    def spec(self, known: Any) -> Any:
        """Return what is known of elements, of what is known of rows; UNKNOWN at the leaves of which nothing is."""
        for trace in self.traces:
            known = None if known is None else specs_of_results(trace, known)
        return known

    def batch(self, rows: list[Any]) -> Any:
        """Compute many elements: a structure with the values of all rows at each leaf; an error is that of some row."""
        found = self.origin.batch(rows)
        for trace in self.traces:
            found = run_batch(trace, len(rows), *leaves(found))
            found = map_structure(lambda leaf: for_all(leaf, len(rows)), found)
        return map_structure(lambda leaf: for_all(leaf, len(rows)), found)

    def blocks(self, rows: Iterator[Any]) -> Iterator[tuple[list[Any], Exception | None]]:
        """Give rows in blocks that grow, the first being wanted at once; and errors behind the rows before them."""
        size, most, more = 1, 1 if self.origin.in_order else _MOST_AHEAD, True
        while more:
            block: list[Any] = []
            error: Exception | None = None
            try:
                block.extend(islice(rows, size))  # what came before an error stays
            except Exception as raised:
                error = raised
            more = len(block) == size or error is not None
            if block or error is not None:
                yield block, error
            size = min(2 * size, most)

    def checked_batch(self, rows: list[Any]) -> Any:
        """Compute many elements; an error is that of the first row that has one."""
        try:
            return self.batch(rows)
        except Exception as error:
            alone = RowFallback(error, len(rows))
            return ELEMENTS.batch([alone.compute(self.row, row) for row in rows])


def trace_of(function: Callable[..., Any], structure: Any, known: Callable[[], Any], *, effects: bool = False) -> Trace:
    """Trace a function of elements; whatever it raises on symbols makes it :class:`Untraceable`.

    ``known`` answers what is known of the elements, for functions that ask for shapes.
    """

    def infer(recording: Recording, symbol: Symbol) -> Any:
        specs = known()
        return None if specs is None else spec_in(recording, specs, symbol)

    def answer(*arguments: Any) -> Any:
        return as_answer(call_function(function, *arguments))

    try:
        return Trace(answer, arguments_of(structure), effects=effects, infer=infer)
    except Untraceable:
        raise
    except Exception as error:
        raise Untraceable(f"{type(error).__name__}: {error}") from error


def spec_behind(function: Callable[..., Any], known: Any) -> Any:
    """Return what a trace tells of a function's answers that is called for each element; None: nothing."""
    try:
        trace = None if known is None else trace_of(function, inputs_like(known), lambda: known, effects=True)
        return None if trace is None else specs_of_results(trace, known)
    except Untraceable:
        return None


def inputs_like(structure: Any) -> Any:
    """Return a structure with :data:`INPUT` at each leaf, as functions of such elements are traced on."""
    return map_structure(lambda _: INPUT, structure)


def how_traced(trace: Trace) -> str:
    """Tell how a traced function is run."""
    told = "traced, for many elements in one call"
    if trace.ways > 1:
        told += f", {trace.ways} {'or more ' if trace.open else ''}ways through its conditions"
    if trace.reasons:
        told += f"; for each element where it raises {', '.join(dict.fromkeys(trace.reasons))}"
    return told


class ComputeNode(Node):
    """The elements of a step's rows."""

    origin = ELEMENTS

    def __init__(self, before: Node, computation: Computation) -> None:
        self._before = before
        self._computation = computation
        self.cardinality = before.cardinality
        self.varying_first = before.varying_first
        self.ragged_rows = frozenset() if computation.traces else before.ragged_rows

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        rows = self._before.rows()
        if not self._computation.traces or self._computation.origin.in_order:
            return map(self._computation.row, rows)
        return _InBlocks(rows, self._computation)

    def sample(self) -> Any:
        """Compute one element."""
        return self._computation.row(self._before.sample())

    def spec(self) -> Any:
        """Return what is known of the rows, and what follows from it."""
        return self._computation.spec(self._before.spec())


class _InBlocks:
    """Computes elements in blocks. Where a block fails, its rows are computed one by one, so that the error is raised
    behind the elements before it; and the pass can go on."""

    def __init__(self, rows: Iterator[Any], computation: Computation) -> None:
        self._blocks = computation.blocks(rows)
        self._computation = computation
        self._ready: deque[Any] = deque()
        self._waiting: deque[tuple[RowFallback, Any]] = deque()
        self._error: Exception | None = None

    def __iter__(self) -> _InBlocks:
        return self

    def __next__(self) -> Any:
        while not self._ready and not self._waiting:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            self._fill()
        if self._ready:
            return self._ready.popleft()
        alone, row = self._waiting.popleft()
        return alone.compute(self._computation.row, row)

    def _fill(self) -> None:
        block, self._error = next(self._blocks)
        if not block:
            return
        try:
            found = self._computation.batch(block)
        except Exception as error:
            self._waiting.extend(zip(repeat(RowFallback(error, len(block))), block))
        else:
            self._ready.extend(elements_of(found, len(block)))


def elements_of(found: Any, count: int) -> list[Any]:
    """Split what was computed for many rows into the element of each."""
    columns = [for_all(leaf, count).each() for leaf in leaves(found)]
    return [filled(found, values) for values in zip(*columns, strict=True)]


def spec_of_elements(node: Node) -> Any:
    """Return the specs of elements: what is known of all, else what one of them is like."""
    known = node.spec()
    if known is not None and UNKNOWN_SPEC not in leaves(known):
        return known
    one = node.sample_of_steps() if known is None else None
    of_one = None if one is None else one.spec()
    if of_one is not None and UNKNOWN_SPEC not in leaves(of_one):
        return of_one
    try:
        element = node.sample()
    except StopIteration:
        raise ValueError("there is no element that would tell the element_spec") from None
    found = map_structure(lambda leaf: _spec(leaf, varying=node.varying_first), element)
    if known is None:
        return found
    pairs = zip(leaves(known), leaves(found), strict=True)
    return filled(found, (_loose(like) if spec is UNKNOWN_SPEC else spec for spec, like in pairs))


def _loose(like: Any) -> Any:
    """Return what one element tells of all others."""
    return TensorSpec(None, like.dtype) if isinstance(like, TensorSpec) else like


def _spec(leaf: Any, *, varying: bool) -> Any:
    spec = spec_of(leaf)
    if varying and isinstance(spec, TensorSpec) and spec.shape.rank:
        return TensorSpec(TensorShape([None]).concatenate(spec.shape[1:]), spec.dtype)
    return spec


class RowFallback:
    """Computes the rows of a block that has failed. Where none of them fails, the fault is ours, and a warning says so:
    the values are right, and the speed is not."""

    def __init__(self, error: Exception, rows: int) -> None:
        self._error: Exception | None = error
        self._left = rows

    def compute(self, function: Callable[[Any], Any], row: Any) -> Any:
        """Compute one row."""
        try:
            found = function(row)
        except Exception:
            self._error = None  # which was that of a row, as it has to be
            raise
        self._left -= 1
        if not self._left and self._error is not None:
            raised = f"{type(self._error).__name__}: {self._error}"
            warnings.warn(
                f"elements are computed one by one, for many at once raised {raised}. "
                "This is a fault of penstock.tf: please report it",
                RuntimeWarning,
                stacklevel=2,
            )
        return found
