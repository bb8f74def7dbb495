"""Plans how the function of a ``map`` is run: traced, in part, with ordered effects, or called for each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.tf.data.map_filter import MapNode
from penstock.tf.data.node import ELEMENTS, Node
from penstock.tf.data.partial_trace import PartialTraceNode, TracedPrefix
from penstock.tf.data.stateful_functions import OrderedEffectsNode, trace_with_effects
from penstock.tf.data.traced_functions import Computation, ComputeNode, inputs_like, trace_of
from penstock.tf.tracing.recording import Untraceable
from penstock.tf.tracing.trace import Trace


class MapPlan(NamedTuple):
    """How a function is run."""

    node: Node
    traces: tuple[Trace, ...]
    """The traced functions to apply to the rows of the node."""
    structure: Any
    """The structure of the results, with INPUT at each leaf, or None where it is not known."""
    explanation: str


def element_node(node: Node, traces: tuple[Trace, ...]) -> Node:
    """Return the node that yields elements: the results of traced functions of a node's rows."""
    if node.row_format is ELEMENTS and not traces:
        return node
    return ComputeNode(node, Computation(node.row_format, traces))


def plan_map(
    function: Callable[..., Any], node: Node, traces: tuple[Trace, ...], structure: Any, *, tracing: bool
) -> MapPlan:
    """Plan how to run a function of elements, which are the results of traced functions of a node's rows.

    Args:
        function: The function.
        node: The node that yields the rows.
        traces: The traced functions before this one.
        structure: The structure of elements, with INPUT at each leaf, or None where it is not known.
        tracing: False calls the function for each element.
    """

    def known_spec() -> Any:
        return element_node(node, traces).spec()

    reason = _why_untraceable(node, structure, tracing=tracing)
    if reason is not None:
        return _call_for_each(function, node, traces, reason)
    try:
        trace = trace_of(function, structure, known_spec)
    except Untraceable as raised:
        reason = str(raised)
    else:
        return MapPlan(node, (*traces, trace), inputs_like(trace.outputs), _describe(trace))
    computation = Computation(node.row_format, traces)
    if (split := trace_with_effects(function, structure, known_spec)) is not None:
        trace, phases = split
        ordered = OrderedEffectsNode(node, computation, trace, phases)
        explanation = f"{_describe(trace)}; {phases.effects()} for each, in order"
        return MapPlan(ordered, (), inputs_like(trace.outputs), explanation)
    if (prefix := TracedPrefix(function, structure)).calls:
        calls = ", ".join(dict.fromkeys(f"tf.{call.name}" for call in prefix.calls))
        explanation = f"for each element, because of {reason}; before that, for many in one call: {calls}"
        return MapPlan(PartialTraceNode(node, computation, function, prefix), (), None, explanation)
    return _call_for_each(function, node, traces, reason)


def _call_for_each(function: Callable[..., Any], node: Node, traces: tuple[Trace, ...], reason: str) -> MapPlan:
    mapped = MapNode(element_node(node, traces), function)
    return MapPlan(mapped, (), None, f"for each element, because of {reason}")


def _why_untraceable(node: Node, structure: Any, *, tracing: bool) -> str | None:
    """Return why functions of these elements are not traced, or None where they are."""
    if not tracing:
        return "the option tracing=False"
    if structure is None:
        return "elements whose structure is not known in advance"
    return "elements that are already computed" if node.row_format is ELEMENTS else None


def _describe(trace: Trace) -> str:
    """Return how a traced function is run."""
    text = "traced, for many elements in one call"
    if trace.paths > 1:
        text += f", {trace.paths} {'or more ' if trace.open else ''}paths through its conditions"
    if trace.reasons:
        text += f"; for each element where it raises {', '.join(dict.fromkeys(trace.reasons))}"
    return text
