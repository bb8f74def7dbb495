"""Infers the specs of what a traced function returns: dtypes, and shapes as far as TensorFlow would know them.

Each call of a trace has specs for its arguments; the spec rule of its operation returns the spec of its result. Where
there is no rule, or it does not apply, the spec is UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.tf.registry import OPERATIONS
from penstock.tf.tensors.specs import UNKNOWN_SPEC, RaggedTensorSpec, SparseTensorSpec, TensorSpec, common_spec, spec_of
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import Call, Recording, Symbol
from penstock.tf.tracing.trace import Fork, Segment, Trace


def specs_of_results(trace: Trace, inputs: Any) -> Any:
    """Return the specs of a function's results, given those of its arguments; UNKNOWN where they cannot be inferred."""
    known = dict(zip((symbol.number for symbol in trace.inputs), map(_spec_of_input, leaves(inputs)), strict=True))
    paths = list(_paths(trace.start, known))
    if not paths:
        return map_structure(lambda _: UNKNOWN_SPEC, trace.outputs)
    return filled(trace.outputs, map(common_spec, zip(*paths, strict=True)))


def spec_in(recording: Recording, inputs: Any, symbol: Symbol) -> Any:
    """Return the spec of a symbol while its function is traced, given the specs of the arguments; None if unknown."""
    known = dict(zip((input.number for input in recording.inputs), map(_spec_of_input, leaves(inputs)), strict=True))
    for call in recording.calls:
        _infer(call, known)
    spec = _spec_of_output(symbol, known)
    return None if spec is UNKNOWN_SPEC else spec


def _spec_of_input(spec: Any) -> Any:
    """Return the spec of a function's argument: the innermost slices of a RaggedTensor are dense tensors."""
    return TensorSpec(spec.shape, spec.dtype) if getattr(spec, "ragged_rank", None) == 0 else spec


def _paths(segment: Segment, known: dict[int, Any]) -> Iterable[list[Any]]:
    """Iterate over the specs of the outputs on each path that was recorded to its end."""
    known = dict(known)
    for call in segment.calls:
        _infer(call, known)
    match segment.end:
        case Fork(condition, yes, no):
            # A condition on shapes alone is a constant: one branch is never taken.
            value = known.get(condition.symbol.number)
            if not isinstance(value, Tensor) or value:
                yield from _paths(yes, known)
            if not isinstance(value, Tensor) or not value:
                yield from _paths(no, known)
        case list(outputs):
            yield [_spec_of_output(output, known) for output in outputs]


def _infer(call: Call, known: dict[int, Any]) -> None:
    numbers = [leaf.number for leaf in leaves((call.args, call.kwargs)) if isinstance(leaf, Symbol)]
    result = _result(call, [known[number] for number in numbers], known)
    if result is None:
        result = map_structure(lambda _: UNKNOWN_SPEC, call.result)
    call.store(result, known)
    if call.name == "set_shape" and result is not UNKNOWN_SPEC:
        known[numbers[0]] = result


def _result(call: Call, values: list[Any], known: dict[int, Any]) -> Any:
    operation = OPERATIONS[call.name]
    if operation.effects != "python" and any(value is UNKNOWN_SPEC for value in values):
        return None
    if not operation.composite and operation.effects != "python" and any(map(_is_composite, values)):
        return None
    args, kwargs = call.arguments(known)
    try:
        # What follows from shapes alone, such as tf.size(x), is a constant, and so is what is computed from it.
        if operation.effects is None and all(isinstance(value, Tensor) for value in values):
            return operation.function(*args, **kwargs)
        return None if operation.spec is None else operation.spec(operation.function, *args, **kwargs)
    except Exception:  # the call itself raises it when it runs
        return None


def _is_composite(spec: Any) -> bool:
    return isinstance(spec, RaggedTensorSpec | SparseTensorSpec)


def _spec_of_output(output: Any, known: dict[int, Any]) -> Any:
    found = known[output.number] if isinstance(output, Symbol) else output
    if found is UNKNOWN_SPEC or _is_composite(found):
        return found
    return TensorSpec(found.shape, found.dtype) if isinstance(found, TensorSpec) else spec_of(found)
