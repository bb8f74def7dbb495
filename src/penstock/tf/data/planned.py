"""How the steps of a data set are made: what waits, what moves, and what is computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.tf.data import joined
from penstock.tf.data.computed import Computation, how_traced, inputs_like, trace_of
from penstock.tf.data.in_order import InOrder, traced_in_order
from penstock.tf.data.node import Node
from penstock.tf.data.origins import ELEMENTS, RECORDS
from penstock.tf.data.passes import Passes
from penstock.tf.data.replay import Beginning, Replayed
from penstock.tf.trace import Trace
from penstock.tf.tracing import Untraceable

if TYPE_CHECKING:
    from penstock.tf.data.dataset import Dataset


class Planned(Passes, ABC):
    """Makes the next data set out of a step: one that moves rows, with the functions that wait, or one behind them."""

    @abstractmethod
    def _made(self, node: Node, line: str, structure: Any, traces: tuple[Trace, ...] = ()) -> Dataset:
        """Answer a data set with another step; ``line`` tells of it."""

    def _trace(self, function: Callable[..., Any]) -> Trace:
        reason = self._traceable()
        if reason is not None:
            raise Untraceable(reason)
        return trace_of(function, self._structure, self._known)

    def _known(self) -> Any:
        """Answer what is known of elements without looking at one, or None."""
        return self._elements().spec()

    def _traceable(self) -> str | None:
        """Answer why functions of elements are not traced here; None: they are."""
        if not self._options.tracing:
            return "the option tracing=False"
        if self._structure is None:
            return "elements that are not known before they are made"
        return "elements that are there already" if self._node.origin is ELEMENTS else None

    def _called(self, function: Callable[..., Any], called: str, reason: str) -> Dataset:
        """Call a function for each element, or as little of it as has to be."""
        computation = Computation(self._node.origin, self._traces)
        if (
            self._traceable() is None
            and (parted := traced_in_order(function, self._structure, self._known)) is not None
        ):
            trace, phases = parted
            node: Node = InOrder(self._node, computation, trace, phases)
            line = f"{called}: {how_traced(trace)}; {phases.effects()} for each, in order"
            return self._computed(node, line, structure=inputs_like(trace.outputs))
        if self._traceable() is None and (beginning := Beginning(function, self._structure)).calls:
            node = Replayed(self._node, computation, function, beginning)
            steps = ", ".join(dict.fromkeys(f"tf.{call.name}" for call in beginning.calls))
            line = f"{called}: for each element, because of {reason}; before that, for many in one call: {steps}"
            return self._computed(node, line, structure=None)
        node = joined.Mapped(self._elements(), function)
        return self._computed(node, f"{called}: for each element, because of {reason}", structure=None)

    def _moved(self, node: Node, called: str) -> Dataset:
        """Answer a data set of the rows of a step, of which elements are made behind it as of those before."""
        if node is self._node:
            what = "native threads read ahead"
        elif node.origin is RECORDS:
            what = "moves records, not yet parsed" if self._traces else "moves records"
        else:
            what = "moves rows, not yet computed" if self._waiting() else "moves elements"
        return self._made(node, f"{called}: {what}", self._structure, self._traces)

    def _computed(self, node: Node, line: str, structure: Any = ...) -> Dataset:
        """Answer a data set of the rows of a step that has made elements of those before."""
        return self._made(node, line, self._structure if structure is ... else structure)

    def _waiting(self) -> bool:
        """Whether there are functions that wait for elements to be wanted."""
        return bool(self._traces) or self._node.origin.in_order
