"""Everything that a function does, whatever the values are: operations in order, which fork where it asks a question.

The function is recorded once for each way through its conditions. Recordings begin alike, up to the question that was
answered differently; a function that does otherwise, because it counts its calls say, is not traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.operation import OPERATIONS
from penstock.tf.structure import filled, leaves, map_structure
from penstock.tf.tensor import Tensor
from penstock.tf.tracing import INPUT, MOST_PATHS, TOO_MANY_PATHS, Call, Recording, Symbol, Untraceable, substituted


class Fork(NamedTuple):
    """A condition, and what follows when it holds and when it does not."""

    condition: Symbol
    yes: Stretch
    no: Stretch


class Raised(NamedTuple):
    """The end of a way where the function raised; rows that come there are given to the function itself."""

    error: Exception


@dataclass
class Stretch:
    """Operations, in order; then a fork, the values at the leaves of the outputs, or an exception."""

    calls: list[Call]
    end: Fork | list[Any] | Raised

    needs: frozenset[int] = frozenset()
    """The numbers of the symbols that are made before it, and used in it or behind it."""

    wanted: tuple[int, ...] = ()
    """Which of the outputs it has to answer: those that do not stand fast at a fork before it."""

    settled: tuple[tuple[int, int], ...] = ()
    """Which of them stand fast at its own fork, by the numbers of their symbols: the same on all ways behind."""


class Trace:
    """The operations of a function."""

    def __init__(self, function: Callable[..., Any], inputs: Any) -> None:
        """Trace a function; ``inputs`` are its arguments, with :data:`INPUT` for each tensor."""
        self.function = function
        self.errors: list[Exception] = []
        self.paths = 0
        self.outputs: Any = None
        recording = Recording(inputs)
        self.arguments, self.inputs = recording.arguments, recording.inputs
        self._given = inputs
        self._structure: str | None = None
        self.start = self._explored((), [])
        places = range(sum(1 for _ in leaves(self.outputs)))
        self._settle(self.start, frozenset(symbol.number for symbol in self.inputs), places)

    def run(self, *inputs: Any) -> Any:
        """Do what was written down to values, one for each input."""
        known: dict[int, Any] = {symbol.number: value for symbol, value in zip(self.inputs, inputs, strict=True)}
        stretch = self.start
        while True:
            for call in stretch.calls:
                args, kwargs = call.arguments(known)
                call.keep(OPERATIONS[call.name](*args, **kwargs), known)
            match stretch.end:
                case Fork(condition, yes, no):
                    stretch = yes if known[condition.number] else no
                case Raised():
                    return self.function(*substituted(self.arguments, known))
                case outputs:
                    return filled(self.outputs, substituted(outputs, known))

    def _explored(self, answers: tuple[bool, ...], before: list[Call]) -> Stretch:
        """Answer what follows some answers: record them, and the other answer to every question behind them.

        ``before`` are the calls that another recording made up to the last answer, which this one has to make too.
        """
        self.paths += 1
        if self.paths > MOST_PATHS:
            raise Untraceable(TOO_MANY_PATHS)
        recording = Recording(self._given, answers)
        end = self._recorded(recording)
        calls, questions = recording.calls, recording.questions
        if not _equal(before, calls[: len(before)]) or len(questions) < len(answers):
            raise Untraceable("conditions on tensors in a function that does other things each time it is called")
        stretch = Stretch(calls[questions[-1].calls if questions else 0 :], end)
        for place in reversed(range(len(answers), len(questions))):
            condition, upto, _ = questions[place]
            other = self._explored((*(question.answer for question in questions[:place]), True), calls[:upto])
            since = questions[place - 1].calls if place else 0
            stretch = Stretch(calls[since:upto], Fork(condition, other, stretch))
        return stretch

    def _recorded(self, recording: Recording) -> list[Any] | Raised:
        try:
            outputs = recording.run(self.function)
        except Exception as error:
            if recording.refused is None and not recording.questions:
                raise
            outputs = error
        if recording.refused is not None:  # and a function that catches all exceptions has gone on
            raise recording.refused
        if isinstance(outputs, Exception):
            self.errors.append(outputs)
            return Raised(outputs)
        structure = repr(map_structure(lambda _: INPUT, outputs))
        if self._structure not in (None, structure):
            raise Untraceable("answers of different structures, by a condition on a tensor")
        self.outputs, self._structure = outputs, structure
        return list(leaves(outputs))

    def _settle(self, stretch: Stretch, known: frozenset[int], wanted: Iterable[int]) -> None:
        """Find out what a stretch, and all behind it, needs and has to answer."""
        made = _numbers(call.result for call in stretch.calls)
        used = _numbers((call.args, call.kwargs) for call in stretch.calls)
        known |= made
        stretch.wanted = tuple(wanted)
        match stretch.end:
            case Fork(condition, yes, no):
                common = ((place, _only_output(stretch, place)) for place in stretch.wanted)
                stretch.settled = tuple((place, number) for place, number in common if number in known)
                fast = dict(stretch.settled)
                for branch in (yes, no):
                    self._settle(branch, known, (place for place in stretch.wanted if place not in fast))
                used |= {condition.number, *fast.values(), *yes.needs, *no.needs}
            case Raised():
                used |= _numbers(self.inputs)
            case outputs:
                used |= _numbers(outputs[place] for place in stretch.wanted)
        stretch.needs = used - made


def _numbers(structures: Iterable[Any]) -> frozenset[int]:
    return frozenset(leaf.number for leaf in leaves(list(structures)) if isinstance(leaf, Symbol))


def _only_output(stretch: Stretch, place: int) -> int | None:
    """Answer the number of the symbol that is the output at a place on all ways, if there is one."""
    match stretch.end:
        case Fork(_, yes, no):
            number = _only_output(yes, place)
            return number if number == _only_output(no, place) else None
        case Raised():
            return None
        case outputs:
            output = outputs[place]
            return output.number if isinstance(output, Symbol) else None


def _equal(one: Any, other: Any) -> bool:
    """Whether two recordings of calls, or parts of them, are the same."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Symbol):
        return bool(one.number == other.number)
    if isinstance(one, Tensor | np.ndarray):
        a, b = np.asarray(one), np.asarray(other)
        return bool(a.dtype == b.dtype and np.array_equal(a, b))
    if isinstance(one, dict):
        return list(one) == list(other) and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)
