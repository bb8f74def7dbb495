"""The registry of operations: every fact about an operation, declared with its function.

Every public function on tensors is registered with :func:`operation`. Calling it runs the function directly, unless a
recorder is active: then calls on symbols are recorded, and can be run later for many rows at once (see
:mod:`penstock.tf.tracing`). The rules that an operation declares say how.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

from penstock.tf.errors import ResourceExhaustedError
from penstock.tf.tensorflow_dispatch import call_tensorflow

_P = ParamSpec("_P")
_R = TypeVar("_R")

Rule: TypeAlias = Callable[..., Any]
"""A function of an operation's function and the arguments of a call; :class:`Operation` says what it returns."""
Effects: TypeAlias = Literal["random", "python", "iterator"]
"""Why a call must run once per element, in order: random values, a Python function, the iterator of a dataset."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation and everything that is known about it."""

    name: str
    """The name under ``tf``, which recorded calls, messages and errors use."""
    function: Callable[..., Any]
    """The implementation. Calling it is never recorded."""
    batch: Rule | None = None
    """Applies the operation to a whole batch: called with ``Stacked`` values in place of tensors, returns the same.

    It returns NotImplemented where it does not apply; the operation then runs row by row. A batch must match its rows
    in the last bit, so sums of floats, and functions that NumPy vectorizes with other rounding, have no such rule.
    """
    spec: Rule | None = None
    """Infers the spec of the result: called with specs in place of unknown tensors, returns a spec or a known tensor.

    Where it returns None or raises, nothing is known about the result.
    """
    results: Callable[..., Any] | None = None
    """Returns the structure of the result, None for each tensor, from the arguments alone; without it, one tensor."""
    effects: Effects | None = None
    """Why two calls with equal arguments may differ."""
    takes_stored_strings: bool = False
    """Whether the batch rule takes strings in the form in which they were read (``RecordRows``, ``EqualStrings``)."""
    composite: bool = False
    """Whether the spec rule takes the specs of ragged and sparse tensors."""
    ragged: Rule | None = None
    """Runs the operation where an argument, or an item of a list, is a RaggedTensor; without it, the call raises."""
    tensorflow_name: str = ""
    """The name under ``tensorflow`` that runs calls on tensors of TensorFlow; empty: such calls run here."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operation; the call is not recorded."""
        return self.function(*args, **kwargs)


OPERATIONS: dict[str, Operation] = {}
"""All operations, by name."""


ELEMENTWISE: dict[Rule, Rule] = {}
"""The rule for ragged tensors of operations on each element, by the batch or spec rule that such operations declare."""


class RaggedArgument:
    """The base of RaggedTensor, by which operations with a rule for it recognize it."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        _RAGGED_TYPES.add(cls)


_RAGGED_TYPES: set[type] = {list, tuple}  # in which ragged tensors may be


def _hold_ragged(values: Iterable[Any]) -> bool:
    if _RAGGED_TYPES.isdisjoint(map(type, values)):  # by far the most calls
        return False
    return any(
        isinstance(value, RaggedArgument) or (type(value) in (list, tuple) and _hold_ragged(value)) for value in values
    )


class Recorder(Protocol):
    """Receives the calls of operations while a function is traced."""

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record the call and return a symbol; where no argument is a symbol, run it."""


recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


class UnknownStructureError(Exception):
    """The number of tensors that an operation returns depends on values; raised by ``Operation.results``."""


def operation(
    name: str,
    *,
    batch: Rule | None = None,
    spec: Rule | None = None,
    results: Callable[..., Any] | None = None,
    effects: Effects | None = None,
    takes_stored_strings: bool = False,
    composite: bool = False,
    ragged: Rule | None = None,
    tensorflow_name: str | None = None,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Register a function as an operation.

    The arguments are the fields of :class:`Operation`; ``tensorflow_name=None`` is ``name``.
    """

    rule = ragged or next((ELEMENTWISE[one] for one in (batch, spec) if one in ELEMENTWISE), None)

    def register(function: Callable[_P, _R]) -> Callable[_P, _R]:
        assert name not in OPERATIONS, name

        @functools.wraps(function)
        def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                if rule is not None and (_hold_ragged(args) or (kwargs and _hold_ragged(kwargs.values()))):
                    found: _R = rule(function, *args, **kwargs)
                    return found
                return function(*args, **kwargs)
            except MemoryError as error:
                raise ResourceExhaustedError(f"OOM in tf.{name}: {error}") from error

        in_tensorflow = name if tensorflow_name is None else tensorflow_name
        facts = (batch, spec, results, effects, takes_stored_strings, composite, rule, in_tensorflow)
        OPERATIONS[name] = Operation(name, run, *facts)

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if recorder.get() is None and "tensorflow" not in sys.modules:  # by far the most calls
                return run(*args, **kwargs)
            result: _R = invoke(name, *args, **kwargs)
            return result

        return call

    return register


def invoke(name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call an operation by name."""
    active = recorder.get()
    if active is not None:
        return active.call(name, args, kwargs)
    found = OPERATIONS[name]
    result = call_tensorflow(found.tensorflow_name, args, kwargs)
    return found.function(*args, **kwargs) if result is NotImplemented else result
