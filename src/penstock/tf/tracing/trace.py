"""Everything that a function does, whatever the values are: operations in order, which fork where it asks a question.

The function is recorded once for each way through its conditions: some when it is traced, the others when rows take
them, for a loop has no end of ways. Recordings begin alike, up to the question that was answered differently; a
function that does otherwise, because it counts its calls say, is not traced.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.tf.registry import OPERATIONS
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.recording import (
    INPUT,
    Call,
    Infer,
    Question,
    Recording,
    Symbol,
    TooDeep,
    Untraceable,
    substituted,
)

_WAYS_AT_FIRST = 16
_MOST_WAYS = 64


class Fork(NamedTuple):
    """A condition, and what follows when it holds and when it does not."""

    question: Question
    yes: Stretch
    no: Stretch
    settled: dict[int, int]
    """The outputs that are the same on all ways behind it: their places, and the numbers of their symbols."""


class Unexplored(NamedTuple):
    """A way that no row has taken yet: the answers that lead to it, and the calls before it."""

    answers: tuple[bool, ...]
    before: list[Call]


class AsWritten(NamedTuple):
    """A way that was not recorded to its end: on it, the function itself is called for each row."""

    reason: str


class Stretch(NamedTuple):
    """Operations, in order; then a fork, the values at the leaves of the outputs, or what is done in their place."""

    calls: list[Call]
    end: Fork | list[Any] | Unexplored | AsWritten


class Trace:
    """The operations of a function."""

    def __init__(
        self, function: Callable[..., Any], inputs: Any, *, effects: bool = False, infer: Infer | None = None
    ) -> None:
        """Trace a function; ``inputs`` are its arguments, with :data:`INPUT` for each tensor.

        With ``effects``, random values and Python functions are traced too; it is for the caller to run them in order.
        ``infer`` tells what is known of a symbol before there are values.
        """
        self.function = function
        self.outputs: Any = None
        self.ways = 0
        self.open = False
        """Whether there are ways that were left for later."""
        self.reasons: list[str] = []
        recording = Recording(inputs)
        self.arguments, self.inputs = recording.arguments, recording.inputs
        self._given = inputs
        self._effects = effects
        self._infer = infer
        self._structure: str | None = None
        self._lock = threading.Lock()
        # What a condition is told that nothing is known of: most loops end on False, the others on True.
        self._usual = False
        try:
            self.start = self._explored((), [], ahead=True)
        except TooDeep:
            self._usual, self.ways = True, 0
            self.start = self._explored((), [], ahead=True)

    def run(self, *inputs: Any) -> Any:
        """Do what was written down to values, one for each input."""
        return self.finish(
            self.start, {symbol.number: value for symbol, value in zip(self.inputs, inputs, strict=True)}
        )

    def finish(self, stretch: Stretch, known: dict[int, Any]) -> Any:
        """Do the rest of what was written down; ``known`` are the values of symbols so far."""
        while True:
            for call in stretch.calls:
                args, kwargs = call.arguments(known)
                call.keep(OPERATIONS[call.name](*args, **kwargs), known)
            match stretch.end:
                case Fork(question, yes, no):
                    stretch = yes if known[question.symbol.number] else no
                case list(outputs):
                    return filled(self.outputs, substituted(outputs, known))
                case _:
                    return self.function(*substituted(self.arguments, known))

    def explore(self, way: Unexplored) -> None:
        """Find out what the function does on a way; :attr:`start` is another tree then, with more in it."""
        with self._lock:
            if self.ways == _MOST_WAYS:
                found = Stretch([], AsWritten(f"more than {_MOST_WAYS} ways"))
            else:
                try:
                    found = self._explored(way.answers, way.before)
                except Untraceable as reason:
                    found = Stretch([], AsWritten(str(reason)))
            self.start = self._extended(self.start, way.answers, found)

    def _explored(self, answers: tuple[bool, ...], before: list[Call], *, ahead: bool = False) -> Stretch:
        """Return what follows some answers, by a recording; ``ahead``: with further ones of the ways that fork off.

        ``before`` are the calls that another recording made up to the last answer, which this one has to make too.
        """
        self.ways += 1
        recording = Recording(self._given, answers, usual=self._usual, effects=self._effects, infer=self._infer)
        end = self._recorded(recording, answers)
        calls, questions = recording.calls, recording.questions
        if not _equal(before, calls[: len(before)]) or len(questions) < len(answers):
            raise Untraceable("conditions on tensors in a function that does other things each time it is called")
        stretch = Stretch(calls[questions[-1].calls if questions else 0 :], end)
        for place in reversed(range(len(answers), len(questions))):
            question, upto = questions[place], questions[place].calls
            others = (*(before.answer for before in questions[:place]), not self._usual)
            if ahead and self.ways < _WAYS_AT_FIRST:
                other = self._explored(others, calls[:upto], ahead=True)
            else:
                self.open = True
                other = Stretch([], Unexplored(others, calls[:upto]))
            since = questions[place - 1].calls if place else 0
            yes, no = (stretch, other) if self._usual else (other, stretch)
            stretch = Stretch(calls[since:upto], _forked(question, yes, no))
        return stretch

    def _recorded(self, recording: Recording, answers: tuple[bool, ...]) -> list[Any] | AsWritten:
        error: Exception | None = None
        try:
            outputs = recording.run(self.function)
        except Exception as raised:
            error = raised
        if recording.refused is not None:  # and a function that catches all exceptions has gone on
            error = recording.refused
        if isinstance(error, Untraceable) and not (isinstance(error, TooDeep) and answers):
            raise error
        if error is not None and not recording.questions:
            raise error
        if error is not None:
            self.reasons.append(type(error).__name__)
            return AsWritten(self.reasons[-1])
        structure = repr(map_structure(lambda _: INPUT, outputs))
        if self._structure not in (None, structure):
            raise Untraceable("answers of different structures, by a condition on a tensor")
        self.outputs, self._structure = outputs, structure
        return list(leaves(outputs))

    def _extended(self, stretch: Stretch, answers: tuple[bool, ...], found: Stretch) -> Stretch:
        """Return a tree with something found where some answers lead, unless it was found before."""
        if not answers:
            return found if isinstance(stretch.end, Unexplored) else stretch
        assert isinstance(stretch.end, Fork)
        question, yes, no, _ = stretch.end
        if answers[0]:
            yes = self._extended(yes, answers[1:], found)
        else:
            no = self._extended(no, answers[1:], found)
        return Stretch(stretch.calls, _forked(question, yes, no))


def _forked(question: Question, yes: Stretch, no: Stretch) -> Fork:
    same = _on_both(_outputs_on_all_ways(yes), _outputs_on_all_ways(no)) or {}
    return Fork(question, yes, no, {place: number for place, number in same.items() if number < question.known})


def _outputs_on_all_ways(stretch: Stretch) -> dict[int, int] | None:
    """Return the outputs that are the same symbol wherever one goes; None where it is not known where that is."""
    match stretch.end:
        case Unexplored():
            return None
        case AsWritten():
            return {}
        case Fork(_, yes, no):
            return _on_both(_outputs_on_all_ways(yes), _outputs_on_all_ways(no))
        case outputs:
            return {place: output.number for place, output in enumerate(outputs) if isinstance(output, Symbol)}


def _on_both(yes: dict[int, int] | None, no: dict[int, int] | None) -> dict[int, int] | None:
    if yes is None or no is None:
        return no if yes is None else yes
    return dict(yes.items() & no.items())


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
