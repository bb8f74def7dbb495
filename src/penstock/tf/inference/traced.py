"""What is known of the results of a traced function before there are values: dtypes, and shapes as TensorFlow has them.

Each call of a trace has specs for its tensors; a rule answers the spec of its result (see
:mod:`penstock.tf.inference.rules`), or UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.tf.inference.rules import RULES
from penstock.tf.registry import OPERATIONS
from penstock.tf.tensors.specs import UNKNOWN_SPEC, RaggedTensorSpec, SparseTensorSpec, TensorSpec, common_spec, spec_of
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import PYTHON, Call, Recording, Symbol, has_effects
from penstock.tf.tracing.trace import Fork, Stretch, Trace


def specs_of_results(trace: Trace, inputs: Any) -> Any:
    """Return the specs of what a function answers, of those of its arguments; UNKNOWN for each that is not known."""
    known = dict(zip((symbol.number for symbol in trace.inputs), map(_as_given, leaves(inputs)), strict=True))
    ways = list(_ways(trace.start, known))
    if not ways:
        return map_structure(lambda _: UNKNOWN_SPEC, trace.outputs)
    return filled(trace.outputs, map(common_spec, zip(*ways, strict=True)))


def spec_in(recording: Recording, inputs: Any, symbol: Symbol) -> Any:
    """Return what is known of a symbol while a function is traced, of the specs of its arguments; None: nothing."""
    known = dict(zip((input.number for input in recording.inputs), map(_as_given, leaves(inputs)), strict=True))
    for call in recording.calls:
        _infer(call, known)
    found = _known(symbol, known)
    return None if found is UNKNOWN_SPEC else found


def _as_given(spec: Any) -> Any:
    """Return what a function is given: slices of a RaggedTensor are plain tensors in the end."""
    return TensorSpec(spec.shape, spec.dtype) if getattr(spec, "ragged_rank", None) == 0 else spec


def _ways(stretch: Stretch, known: dict[int, Any]) -> Iterable[list[Any]]:
    """Give the specs of the outputs on each way through the conditions that has been explored to its end."""
    known = dict(known)
    for call in stretch.calls:
        _infer(call, known)
    match stretch.end:
        case Fork(question, yes, no):
            # What follows from shapes alone is answered already.
            told = known.get(question.symbol.number)
            yield from () if isinstance(told, Tensor) and not told else _ways(yes, known)
            yield from () if isinstance(told, Tensor) and told else _ways(no, known)
        case list(outputs):
            yield [_known(output, known) for output in outputs]


def _infer(call: Call, known: dict[int, Any]) -> None:
    numbers = [leaf.number for leaf in leaves((call.args, call.kwargs)) if isinstance(leaf, Symbol)]
    values = [known[number] for number in numbers]
    result = _result(call, values, known)
    if result is None:
        result = map_structure(lambda _: UNKNOWN_SPEC, call.result)
    call.keep(result, known)
    if call.name == "set_shape" and result is not UNKNOWN_SPEC:
        known[numbers[0]] = result


def _result(call: Call, values: list[Any], known: dict[int, Any]) -> Any:
    if call.name not in PYTHON and any(value is UNKNOWN_SPEC or _is_composite(value, call) for value in values):
        return None
    # What follows from shapes alone, tf.size(x) say, is a constant, and so is what is computed of it.
    constant = not has_effects(call.name) and all(isinstance(value, Tensor) for value in values)
    rule = OPERATIONS[call.name] if constant else RULES.get(call.name)
    if rule is None:
        return None
    args, kwargs = call.arguments(known)
    try:
        return rule(*args, **kwargs)
    except Exception:  # which the call itself raises, when there are values
        return None


def _is_composite(value: Any, call: Call) -> bool:
    return isinstance(value, RaggedTensorSpec | SparseTensorSpec) and "sparse" not in call.name


def _known(output: Any, known: dict[int, Any]) -> Any:
    found = known[output.number] if isinstance(output, Symbol) else output
    if found is UNKNOWN_SPEC or isinstance(found, SparseTensorSpec | RaggedTensorSpec):
        return found
    return TensorSpec(found.shape, found.dtype) if isinstance(found, TensorSpec) else spec_of(found)
