"""Writes down what a function does with tensors, so that it can be done for many rows at once.

The function runs on symbols. Every operation on a symbol is noted and answers another symbol. A condition on a symbol
is told what to be; the function is run again to see what else it might do (see
:mod:`penstock.tf.tracing.trace`). A function that asks for more (``.numpy()``, ``int()``) cannot be written down: it
runs for each element, as it stands.
Calls with effects (random values, Python functions) are written down only on request: they have to be made once for
each element, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from penstock.tf.registry import OPERATIONS, invoke, recorder
from penstock.tf.results import UnknownStructureError, structure_of_result
from penstock.tf.tensors.dtypes import DType
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import leaves, map_structure
from penstock.tf.tensors.tensor import Operators


class Untraceable(Exception):
    """A function asks for what a symbol cannot tell; the message says what."""


class TooDeep(Untraceable):
    """A function asks one question after another."""


class Call(NamedTuple):
    """One operation; symbols among the arguments are the results of calls before it, or inputs."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    """A symbol, or a structure of symbols."""
    numbers: tuple[int, ...]
    """The numbers of its symbols."""
    symbolic: frozenset[int | str]
    """Which of the arguments hold symbols, by place or name."""

    def arguments(self, known: Mapping[int, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments with values in the place of symbols."""
        symbolic = self.symbolic
        args = [substituted(arg, known) if place in symbolic else arg for place, arg in enumerate(self.args)]
        return args, {key: substituted(arg, known) if key in symbolic else arg for key, arg in self.kwargs.items()}

    def keep(self, value: Any, known: dict[int, Any]) -> None:
        """Note what the operation answered."""
        if isinstance(self.result, Symbol):
            known[self.result.number] = value
        else:
            known.update(zip(self.numbers, leaves(value), strict=True))


class Question(NamedTuple):
    """A condition on a symbol: what was answered, and how many calls and symbols there were before it."""

    symbol: Symbol
    answer: bool
    calls: int
    known: int


class Symbol(Operators):
    """A value that is not known yet: number ``number`` of its recording."""

    __slots__ = ("_recording", "number")

    def __init__(self, recording: Recording, number: int) -> None:
        self._recording = recording
        self.number = number

    def stands_for(self, kind: type) -> bool:
        """Return whether the value is of a kind of tensors, where that is known before there are values."""
        spec = self._recording.spec(self)
        if spec is None:
            self._refuse(f"isinstance(tensor, tf.{kind.__name__})")
        return getattr(spec, "value_type", None) is kind

    def _refuse(self, what: str) -> NoReturn:
        raise self._recording.refuse(what)

    def __bool__(self) -> bool:
        return self._recording.answer(self)

    def __iter__(self) -> Iterator[Any]:
        shape = self._recording.known_shape(self)
        if shape is not None and shape.rank:
            if len(self) > _MOST_TURNS:
                self._refuse(f"a loop over a tensor of {len(self)} rows")
            yield from (self[place] for place in range(len(self)))
            return
        length, place = invoke("length", self), 0
        while length > place:
            yield self[place]
            place += 1

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
        if name.startswith("__"):  # by which Python and NumPy find out what an object is
            raise AttributeError(name)
        self._refuse(f"the attribute .{name} of a tensor")

    @property
    def shape(self) -> TensorShape:
        """The sizes, where all of them are known before there are values."""
        return self._recording.known_shape(self) or self._refuse("the attribute .shape of a tensor")

    def get_shape(self) -> TensorShape:
        """Return the sizes, likewise."""
        return self.shape

    @property
    def dtype(self) -> DType:
        """The element type, likewise."""
        spec = self._recording.spec(self)
        if spec is None:
            self._refuse("the attribute .dtype of a tensor")
        dtype: DType = spec.dtype
        return dtype

    def __repr__(self) -> str:
        return f"<symbol {self.number}>"

    def set_shape(self, shape: Any) -> None:
        """Note the shape, which is known from here on, and checked when there are values."""
        self._recording.call("set_shape", (self, shape), {})


class Recording:
    """One run of a function on symbols: its operations, in order."""

    def __init__(
        self,
        inputs: Any,
        answers: Sequence[bool] | None = None,
        *,
        usual: bool = False,
        effects: bool = False,
        infer: Infer | None = None,
    ) -> None:
        """Get ready; ``inputs`` are the arguments of the function, with :data:`INPUT` for each tensor.

        ``answers`` is what conditions are told, in order, and ``usual`` what those behind them are. None refuses them.
        ``effects`` is whether calls with effects are written down too. ``infer`` tells what is known of a symbol.
        """
        self.calls: list[Call] = []
        self.count = 0
        self.questions: list[Question] = []
        self.refused: Untraceable | None = None
        self.arguments = map_structure(lambda leaf: self.symbol() if leaf is INPUT else leaf, inputs)
        self.inputs = [leaf for leaf in leaves(self.arguments) if isinstance(leaf, Symbol)]
        self._answers = answers
        self._usual = usual
        self._effects = effects
        self._infer = infer
        self._answered: dict[int, bool] = {}

    def run(self, function: Callable[..., Any]) -> Any:
        """Run the function; return what it answers."""
        token = recorder.set(self)
        try:
            return function(*self.arguments)
        finally:
            recorder.reset(token)

    def symbol(self) -> Symbol:
        """Make a new symbol."""
        self.count += 1
        return Symbol(self, self.count - 1)

    def spec(self, symbol: Symbol) -> Any:
        """Return what is known of a symbol; None: nothing."""
        return None if self._infer is None else self._infer(self, symbol)

    def known_shape(self, symbol: Symbol) -> TensorShape | None:
        """Return the shape of a symbol that is a dense tensor, where all sizes are known."""
        spec = self.spec(symbol)
        return spec.shape if isinstance(spec, TensorSpec) and spec.shape.is_fully_defined() else None

    def refuse(self, what: str) -> Untraceable:
        """Give up."""
        self.refused = self.refused or Untraceable(what)
        return self.refused

    def answer(self, symbol: Symbol) -> bool:
        """Return a condition: as it was answered before, or as this run is to go."""
        if self.refused is not None:
            raise self.refused
        if self._answers is None:
            raise self.refuse("a condition on a tensor")
        known = self._answered.get(symbol.number)
        if known is not None:
            return known
        place = len(self.questions)
        if place == _MOST_QUESTIONS:
            self.refused = TooDeep(f"a loop of more than {_MOST_QUESTIONS} turns, by a condition on a tensor")
            raise self.refused
        answer = self._answers[place] if place < len(self._answers) else self._usual
        self.questions.append(Question(symbol, answer, len(self.calls), self.count))
        self._answered[symbol.number] = answer
        return answer

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write a call down; or make it, where no argument is a symbol."""
        if self.refused is not None:
            raise self.refused
        effect = has_effects(name)
        if effect and not self._effects:
            raise self.refuse(f"{_EFFECTS.get(name, 'random values')} (tf.{name})")
        given: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
        symbolic = frozenset(place for place, arg in given if any(isinstance(leaf, Symbol) for leaf in leaves(arg)))
        if not symbolic and not effect:
            # What it calls in turn is not recorded either.
            token = recorder.set(None)
            try:
                return OPERATIONS[name](*args, **kwargs)
            finally:
                recorder.reset(token)
        try:
            structure = structure_of_result(name, args, kwargs)
        except UnknownStructureError as reason:
            raise self.refuse(str(reason)) from None
        result = map_structure(lambda _: self.symbol(), structure)
        # Of copies: lists and dicts are the function's own, which may go on to change them.
        args = tuple(map(_copied, args))
        kwargs = {key: _copied(arg) for key, arg in kwargs.items()}
        numbers = tuple(symbol.number for symbol in leaves(result))
        self.calls.append(Call(name, args, kwargs, result, numbers, symbolic))
        return _copied(result)


Infer: TypeAlias = Callable[[Recording, Symbol], Any]
"""Tells what is known of a symbol of a recording: its spec, or None."""


class _Input:
    def __repr__(self) -> str:
        return "INPUT"


INPUT = _Input()
"""Stands for a tensor that a traced function is given."""
_MOST_QUESTIONS = 64
_MOST_TURNS = 1024
PYTHON = ("py_function", "numpy_function")
"""Operations that call a function of Python's."""
_EFFECTS = {**dict.fromkeys(PYTHON, "a Python function"), "data.next_element": "the iterator of a dataset"}


def has_effects(name: str) -> bool:
    """Whether an operation does not answer the same each time, or does more than answer."""
    return name in _EFFECTS or "random" in name


def _copied(structure: Any) -> Any:
    """Copy lists and dicts; what cannot be changed, a FixedLenFeature say, is the same object still."""
    kind = type(structure)
    if kind is dict:
        return {key: _copied(item) for key, item in structure.items()}
    if kind is list or kind is tuple:
        return kind(map(_copied, structure))
    return structure


def substituted(structure: Any, known: Mapping[int, Any]) -> Any:
    """Put values in the place of symbols."""
    return map_structure(lambda leaf: known[leaf.number] if isinstance(leaf, Symbol) else leaf, structure)
