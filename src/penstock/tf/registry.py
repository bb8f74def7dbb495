"""The registry of operations. Every public function on tensors goes through it.

A function that is registered under a name runs as it is, unless a recorder listens: then calls on symbolic values are
written down in place of being made, and can be made later, many rows at once (see :mod:`penstock.tf.tracing`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ParamSpec, Protocol, TypeVar

from penstock.tf.errors import ResourceExhaustedError
from penstock.tf.tensorflow_dispatch import call_tensorflow

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Recorder(Protocol):
    """Listens to calls of operations."""

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write the call down and answer a symbol; or make it, where no argument is symbolic."""


OPERATIONS: dict[str, Callable[..., Any]] = {}
"""The functions themselves, by name; calling one here is not recorded."""
recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


def operation(name: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Register a function under a name."""

    def register(function: Callable[_P, _R]) -> Callable[_P, _R]:
        assert name not in OPERATIONS, name

        @functools.wraps(function)
        def make(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                return function(*args, **kwargs)
            except MemoryError as error:
                raise ResourceExhaustedError(f"OOM in tf.{name}: {error}") from error

        OPERATIONS[name] = make

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if recorder.get() is None and "tensorflow" not in sys.modules:  # by far the most calls
                return make(*args, **kwargs)
            found: _R = invoke(name, *args, **kwargs)
            return found

        return call

    return register


def invoke(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call an operation by name."""
    listening = recorder.get()
    if listening is not None:
        return listening.call(name, args, kwargs)
    found = call_tensorflow(name, args, kwargs)
    return OPERATIONS[name](*args, **kwargs) if found is NotImplemented else found
