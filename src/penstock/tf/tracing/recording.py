"""Records the operations of a function, so that they can run for many rows at once.

The function runs on symbols. Every operation on a symbol is recorded and returns another symbol. A condition on a
symbol gets a value that the caller chooses; the function runs again to record the other branch (see
:mod:`penstock.tf.tracing.trace`). A function that needs actual values (``.numpy()``, ``int()``) cannot be recorded: it
runs for each element instead. Calls with effects (random values, Python functions) are recorded only on request: they
must run once per element, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from penstock.tf.registry import OPERATIONS, UnknownStructureError, invoke, recorder
from penstock.tf.tensors.dtypes import DType
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Operators


class Untraceable(Exception):
    """A function needs something that a symbol does not have; the message says what."""


class TooDeep(Untraceable):
    """A function evaluates more conditions than are recorded, as in a long loop."""


class Call(NamedTuple):
    """A recorded call; symbols among its arguments are inputs, or results of earlier calls."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    """A symbol, or a structure of symbols."""
    numbers: tuple[int, ...]
    """The numbers of the symbols in ``result``."""
    symbolic: frozenset[int | str]
    """The arguments that hold symbols, by position or name."""

    @property
    def has_effects(self) -> bool:
        """Whether the call must run once per element, in order."""
        return OPERATIONS[self.name].effects is not None

    def arguments(self, known: Mapping[int, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments with symbols replaced by their values."""
        symbolic = self.symbolic
        args = [substituted(arg, known) if place in symbolic else arg for place, arg in enumerate(self.args)]
        return args, {key: substituted(arg, known) if key in symbolic else arg for key, arg in self.kwargs.items()}

    def store(self, value: Any, known: dict[int, Any]) -> None:
        """Store the result of the call as the values of its symbols."""
        if isinstance(self.result, Symbol):
            known[self.result.number] = value
        else:
            known.update(zip(self.numbers, leaves(value), strict=True))


class Condition(NamedTuple):
    """A condition on a symbol, and its value in this recording."""

    symbol: Symbol
    outcome: bool
    calls: int
    """The number of calls before it."""
    known: int
    """The number of symbols before it."""


class Symbol(Operators):
    """A value that is not known yet, with a number that is unique in its recording."""

    __slots__ = ("_recording", "number")

    def __init__(self, recording: Recording, number: int) -> None:
        self._recording = recording
        self.number = number

    def stands_for(self, kind: type) -> bool:
        """Return whether the value will be a tensor of this class; raise where that cannot be inferred."""
        spec = self._recording.spec(self)
        if spec is None:
            self._refuse(f"isinstance(tensor, tf.{kind.__name__})")
        return getattr(spec, "value_type", None) is kind

    def _refuse(self, what: str) -> NoReturn:
        raise self._recording.refuse(what)

    def __bool__(self) -> bool:
        return self._recording.evaluate(self)

    def __iter__(self) -> Iterator[Any]:
        shape = self._recording.known_shape(self)
        if shape is not None and shape.rank:
            if len(self) > _MAX_ITERATIONS:
                self._refuse(f"a loop over a tensor of {len(self)} rows")
            yield from (self[index] for index in range(len(self)))
            return
        length, index = invoke("length", self), 0
        while length > index:
            yield self[index]
            index += 1

    def __len__(self) -> int:
        return int(self.shape[0])

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
        if name.startswith("__"):  # Python and NumPy look these up to find out what an object is
            raise AttributeError(name)
        self._refuse(f"the attribute .{name} of a tensor")

    @property
    def shape(self) -> TensorShape:
        """The shape, where all of its sizes can be inferred."""
        return self._recording.known_shape(self) or self._refuse("the attribute .shape of a tensor")

    def get_shape(self) -> TensorShape:
        """Return the shape, where all of its sizes can be inferred."""
        return self.shape

    @property
    def dtype(self) -> DType:
        """The dtype, where it can be inferred."""
        spec = self._recording.spec(self)
        if spec is None:
            self._refuse("the attribute .dtype of a tensor")
        dtype: DType = spec.dtype
        return dtype

    def __repr__(self) -> str:
        return f"<symbol {self.number}>"

    def set_shape(self, shape: Any) -> None:
        """Record the shape, which is known from here on, and checked when the call runs."""
        self._recording.call("set_shape", (self, shape), {})


class Recording:
    """One run of a function on symbols: its operations, in order."""

    def __init__(
        self,
        inputs: Any,
        outcomes: Sequence[bool] | None = None,
        *,
        default_outcome: bool = False,
        effects: bool = False,
        infer: Infer | None = None,
    ) -> None:
        """Prepare a recording.

        Args:
            inputs: The arguments of the function, with :data:`INPUT` for each tensor.
            outcomes: The values of the first conditions, in order; None makes every condition untraceable.
            default_outcome: The value of all further conditions.
            effects: Whether to record calls with effects.
            infer: Returns the spec of a symbol.
        """
        self.calls: list[Call] = []
        self.count = 0
        self.conditions: list[Condition] = []
        self.refused: Untraceable | None = None
        self.arguments = map_structure(lambda leaf: self.symbol() if leaf is INPUT else leaf, inputs)
        self.inputs = [leaf for leaf in leaves(self.arguments) if isinstance(leaf, Symbol)]
        self._outcomes = outcomes
        self._default_outcome = default_outcome
        self._effects = effects
        self._infer = infer
        self._evaluated: dict[int, bool] = {}

    def run(self, function: Callable[..., Any]) -> Any:
        """Run the function on symbols and return its result."""
        token = recorder.set(self)
        try:
            return function(*self.arguments)
        finally:
            recorder.reset(token)

    def symbol(self) -> Symbol:
        """Return a new symbol."""
        self.count += 1
        return Symbol(self, self.count - 1)

    def spec(self, symbol: Symbol) -> Any:
        """Return the spec of a symbol; None if unknown."""
        return None if self._infer is None else self._infer(self, symbol)

    def known_shape(self, symbol: Symbol) -> TensorShape | None:
        """Return the shape of a symbol for a dense tensor; None unless all sizes are known."""
        spec = self.spec(symbol)
        return spec.shape if isinstance(spec, TensorSpec) and spec.shape.is_fully_defined() else None

    def refuse(self, what: str) -> Untraceable:
        """Return the error to raise, and raise it from every later call, even if the function catches it."""
        self.refused = self.refused or Untraceable(what)
        return self.refused

    def evaluate(self, symbol: Symbol) -> bool:
        """Return the value of a condition: the same as before for the same symbol, else the next of ``outcomes``."""
        if self.refused is not None:
            raise self.refused
        if self._outcomes is None:
            raise self.refuse("a condition on a tensor")
        known = self._evaluated.get(symbol.number)
        if known is not None:
            return known
        place = len(self.conditions)
        if place == _MAX_CONDITIONS:
            self.refused = TooDeep(f"a loop of more than {_MAX_CONDITIONS} turns, by a condition on a tensor")
            raise self.refused
        outcome = self._outcomes[place] if place < len(self._outcomes) else self._default_outcome
        self.conditions.append(Condition(symbol, outcome, len(self.calls), self.count))
        self._evaluated[symbol.number] = outcome
        return outcome

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call; run it where no argument is a symbol."""
        if self.refused is not None:
            raise self.refused
        operation = OPERATIONS[name]
        if operation.effects is not None and not self._effects:
            raise self.refuse(f"{_EFFECTS[operation.effects]} (tf.{name})")
        given: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
        symbolic = frozenset(place for place, arg in given if any(isinstance(leaf, Symbol) for leaf in leaves(arg)))
        if not symbolic and operation.effects is None:
            # The operations that it calls are not recorded either.
            token = recorder.set(None)
            try:
                return operation.function(*args, **kwargs)
            finally:
                recorder.reset(token)
        try:
            structure = None if operation.results is None else operation.results(*args, **kwargs)
        except UnknownStructureError as reason:
            raise self.refuse(str(reason)) from None
        result = map_structure(lambda _: self.symbol(), structure)
        # Record copies: the function may modify its lists and dicts afterwards.
        args = tuple(map(_copied, args))
        kwargs = {key: _copied(arg) for key, arg in kwargs.items()}
        numbers = tuple(symbol.number for symbol in leaves(result))
        self.calls.append(Call(name, args, kwargs, result, numbers, symbolic))
        return _copied(result)


Infer: TypeAlias = Callable[[Recording, Symbol], Any]
"""Returns the spec of a symbol of a recording, or None."""


class _Input:
    def __repr__(self) -> str:
        return "INPUT"


INPUT = _Input()
"""Marks a tensor among the arguments of a function to trace."""
_MAX_CONDITIONS = 64
_MAX_ITERATIONS = 1024
_EFFECTS = {"random": "random values", "python": "a Python function", "iterator": "the iterator of a dataset"}


def _copied(structure: Any) -> Any:
    """Copy lists, dicts and tuples; immutable objects, such as a FixedLenFeature, stay the same objects."""
    kind = type(structure)
    if kind is dict:
        return {key: _copied(item) for key, item in structure.items()}
    if kind is list or kind is tuple:
        return kind(map(_copied, structure))
    return structure


def substituted(structure: Any, known: Mapping[int, Any]) -> Any:
    """Replace symbols by their values."""
    return map_structure(lambda leaf: known[leaf.number] if isinstance(leaf, Symbol) else leaf, structure)
