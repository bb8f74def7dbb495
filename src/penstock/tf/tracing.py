"""Writes down what a function does with tensors, so that it can be done for many rows at once.

The function runs once, on symbols. Every operation on a symbol is noted and answers another symbol. A function that
asks what a symbol *is* (``if``, ``.numpy()``, a loop over it), or that draws random values, cannot be written down: it
runs for each element, as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from penstock.tf.operation import OPERATIONS, recorder
from penstock.tf.operators import Operators
from penstock.tf.structure import leaves, map_structure


class Untraceable(Exception):
    """A function asks for what a symbol cannot tell; the message says what."""


class Call(NamedTuple):
    """One operation of a trace; symbols among the arguments are the results of calls before it, or inputs."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Symbol


class Symbol(Operators):
    """A value that is not known yet: number ``number`` of its trace."""

    __slots__ = ("_trace", "number")

    def __init__(self, trace: Trace, number: int) -> None:
        self._trace = trace
        self.number = number

    def _refuse(self, what: str) -> NoReturn:
        raise self._trace.refuse(what)

    def __bool__(self) -> NoReturn:
        self._refuse("a condition on a tensor")

    def __iter__(self) -> NoReturn:
        self._refuse("a loop over a tensor")

    def __len__(self) -> NoReturn:
        self._refuse("the length of a tensor")

    def __int__(self) -> NoReturn:
        self._refuse("int() of a tensor")

    def __float__(self) -> NoReturn:
        self._refuse("float() of a tensor")

    def __index__(self) -> NoReturn:
        self._refuse("a tensor as an index")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._refuse("a tensor as an array of NumPy")

    def __str__(self) -> NoReturn:
        self._refuse("the text of a tensor")

    def __format__(self, spec: str) -> NoReturn:
        self._refuse("the text of a tensor")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # by which Python and NumPy find out what an object is
            raise AttributeError(name)
        self._refuse(f"the attribute .{name} of a tensor")

    def __repr__(self) -> str:
        return f"<symbol {self.number}>"

    def set_shape(self, shape: Any) -> None:
        """Pass over it: shapes are known when there are values."""


class Trace:
    """The operations of a function, in order."""

    def __init__(self, function: Callable[..., Any], inputs: Any, *, beginning: bool = False) -> None:
        """Trace a call of a function; ``inputs`` are its arguments, with :data:`INPUT` for each tensor.

        ``beginning`` takes what a function does up to where it cannot be traced; there are no outputs then.
        """
        self.calls: list[Call] = []
        self.count = 0
        self.outputs: Any = None
        self._refused: Untraceable | None = None
        self.arguments = map_structure(lambda leaf: self.symbol() if leaf is INPUT else leaf, inputs)
        self.inputs = [leaf for leaf in leaves(self.arguments) if isinstance(leaf, Symbol)]
        token = recorder.set(self)
        try:
            self.outputs = function(*self.arguments)
        except Exception:
            if not beginning:
                raise
        finally:
            recorder.reset(token)
        if self._refused is not None and not beginning:  # and a function that catches all exceptions has gone on
            raise self._refused

    def symbol(self) -> Symbol:
        """Make a new symbol."""
        self.count += 1
        return Symbol(self, self.count - 1)

    def refuse(self, what: str) -> Untraceable:
        """Give up."""
        self._refused = self._refused or Untraceable(what)
        return self._refused

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write a call down; or make it, where no argument is a symbol."""
        if self._refused is not None:
            raise self._refused
        if "random" in name:
            raise self.refuse(f"random values (tf.{name})")
        if name in _PYTHON:
            raise self.refuse(f"a Python function (tf.{name})")
        if not any(isinstance(leaf, Symbol) for leaf in leaves((args, kwargs))):
            # What it calls in turn is not of the trace either.
            token = recorder.set(None)
            try:
                return OPERATIONS[name](*args, **kwargs)
            finally:
                recorder.reset(token)
        outputs = _OUTPUTS.get(name)
        return self.note(name, args, kwargs) if outputs is None else outputs(self, name, args, kwargs)

    def note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Symbol:
        """Note a call; answer the symbol of its result."""
        result = self.symbol()
        self.calls.append(Call(name, args, kwargs, result))
        return result

    def run(self, *inputs: Any) -> Any:
        """Run what was written down on values, one for each input."""
        known: dict[int, Any] = {symbol.number: value for symbol, value in zip(self.inputs, inputs, strict=True)}
        for call in self.calls:
            args, kwargs = substituted((call.args, call.kwargs), known)
            known[call.result.number] = OPERATIONS[call.name](*args, **kwargs)
        return substituted(self.outputs, known)


class _Input:
    def __repr__(self) -> str:
        return "INPUT"


INPUT = _Input()
"""Stands for a tensor that a traced function is given."""

_PYTHON = ("py_function", "numpy_function")


def _parsed_example(trace: Trace, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    features = args[1] if len(args) > 1 else kwargs.get("features")
    if not isinstance(features, Mapping):
        raise trace.refuse("a feature description that is no dict")
    parsed = trace.note(name, args, kwargs)
    return {key: trace.note("item", (parsed, key), {}) for key in features}


def _several_outputs(trace: Trace, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise trace.refuse(f"tf.{name}, which has several results")


# Operations whose result is no single tensor.
_OUTPUTS: dict[str, Callable[..., Any]] = {
    "io.parse_single_example": _parsed_example,
    "io.parse_example": _parsed_example,
    "io.parse_sequence_example": _several_outputs,
    "io.parse_single_sequence_example": _several_outputs,
    "unstack": _several_outputs,
    "split": _several_outputs,
    "unique": _several_outputs,
}


def _item(container: Any, key: Any) -> Any:
    return container[key]


OPERATIONS["item"] = _item


def substituted(structure: Any, known: Mapping[int, Any]) -> Any:
    """Put values in the place of symbols."""
    return map_structure(lambda leaf: known[leaf.number] if isinstance(leaf, Symbol) else leaf, structure)
