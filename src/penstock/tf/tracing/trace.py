"""All operations of a function, as a tree that forks at each condition on a tensor.

The function is recorded once per path through its conditions: some paths when it is traced, the others when a row first
takes them, because a loop has no limit on its paths. Recordings must agree up to the condition in which they differ; a
function that behaves differently on each call, for example because it counts its calls, is not traced.
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
    Condition,
    Infer,
    Recording,
    Symbol,
    TooDeep,
    Untraceable,
    substituted,
)

_PATHS_AT_FIRST = 16
_MAX_PATHS = 64


class Fork(NamedTuple):
    """A condition and its two branches."""

    condition: Condition
    yes: Segment
    no: Segment
    settled: dict[int, int]
    """The outputs that are the same symbol in both branches: position to symbol number."""


class Unexplored(NamedTuple):
    """A branch that no row has taken yet: the conditions that lead to it, and the calls before it."""

    outcomes: tuple[bool, ...]
    before: list[Call]


class Untraced(NamedTuple):
    """A branch that cannot be recorded: rows that take it call the function itself."""

    reason: str


class Segment(NamedTuple):
    """Calls in order, and what follows them; a list holds the leaves of the outputs."""

    calls: list[Call]
    end: Fork | list[Any] | Unexplored | Untraced


class Trace:
    """The operations of a function on all of its paths."""

    def __init__(
        self, function: Callable[..., Any], inputs: Any, *, effects: bool = False, infer: Infer | None = None
    ) -> None:
        """Trace a function.

        Args:
            function: The function.
            inputs: Its arguments, with :data:`INPUT` for each tensor.
            effects: Whether to trace random values and Python functions too. The caller must run them in order.
            infer: Returns the spec of a symbol.

        Raises:
            Untraceable: The function needs actual values.
        """
        self.function = function
        self.outputs: Any = None
        self.paths = 0
        """The number of recorded paths."""
        self.open = False
        """Whether there are paths that were not recorded yet."""
        self.reasons: list[str] = []
        recording = Recording(inputs)
        self.arguments, self.inputs = recording.arguments, recording.inputs
        self._given = inputs
        self._effects = effects
        self._infer = infer
        self._structure: str | None = None
        self._lock = threading.Lock()
        # The value of conditions at first: most loops end on False, the others on True.
        self._default_outcome = False
        try:
            self.start = self._explored((), [], ahead=True)
        except TooDeep:
            self._default_outcome, self.paths = True, 0
            self.start = self._explored((), [], ahead=True)

    def run(self, *inputs: Any) -> Any:
        """Run the trace for one row: one value per input."""
        return self.finish(
            self.start, {symbol.number: value for symbol, value in zip(self.inputs, inputs, strict=True)}
        )

    def finish(self, segment: Segment, known: dict[int, Any]) -> Any:
        """Run the rest of the trace for one row, given the values of symbols so far."""
        while True:
            for call in segment.calls:
                args, kwargs = call.arguments(known)
                call.store(OPERATIONS[call.name].function(*args, **kwargs), known)
            match segment.end:
                case Fork(condition, yes, no):
                    segment = yes if known[condition.symbol.number] else no
                case list(outputs):
                    return filled(self.outputs, substituted(outputs, known))
                case _:
                    return self.function(*substituted(self.arguments, known))

    def explore(self, path: Unexplored) -> None:
        """Record a path that was not recorded yet, and replace :attr:`start` by a tree that contains it."""
        with self._lock:
            if self.paths == _MAX_PATHS:
                found = Segment([], Untraced(f"more than {_MAX_PATHS} paths"))
            else:
                try:
                    found = self._explored(path.outcomes, path.before)
                except Untraceable as reason:
                    found = Segment([], Untraced(str(reason)))
            self.start = self._extended(self.start, path.outcomes, found)

    def _explored(self, outcomes: tuple[bool, ...], before: list[Call], *, ahead: bool = False) -> Segment:
        """Record the tree that follows some values of conditions.

        Args:
            outcomes: The values of the conditions that lead there.
            before: The calls of another recording up to the last of them, which this one must repeat.
            ahead: Whether to record some of the paths that fork off, too.
        """
        self.paths += 1
        recording = Recording(
            self._given, outcomes, default_outcome=self._default_outcome, effects=self._effects, infer=self._infer
        )
        end = self._recorded(recording, outcomes)
        calls, conditions = recording.calls, recording.conditions
        if not _equal(before, calls[: len(before)]) or len(conditions) < len(outcomes):
            raise Untraceable("conditions on tensors in a function that does something different on each call")
        segment = Segment(calls[conditions[-1].calls if conditions else 0 :], end)
        for place in reversed(range(len(outcomes), len(conditions))):
            condition, upto = conditions[place], conditions[place].calls
            others = (*(before.outcome for before in conditions[:place]), not self._default_outcome)
            if ahead and self.paths < _PATHS_AT_FIRST:
                other = self._explored(others, calls[:upto], ahead=True)
            else:
                self.open = True
                other = Segment([], Unexplored(others, calls[:upto]))
            since = conditions[place - 1].calls if place else 0
            yes, no = (segment, other) if self._default_outcome else (other, segment)
            segment = Segment(calls[since:upto], _forked(condition, yes, no))
        return segment

    def _recorded(self, recording: Recording, outcomes: tuple[bool, ...]) -> list[Any] | Untraced:
        error: Exception | None = None
        try:
            outputs = recording.run(self.function)
        except Exception as raised:
            error = raised
        if recording.refused is not None:  # the function may have caught it
            error = recording.refused
        if isinstance(error, Untraceable) and not (isinstance(error, TooDeep) and outcomes):
            raise error
        if error is not None and not recording.conditions:
            raise error
        if error is not None:
            self.reasons.append(type(error).__name__)
            return Untraced(self.reasons[-1])
        structure = repr(map_structure(lambda _: INPUT, outputs))
        if self._structure not in (None, structure):
            raise Untraceable("results of different structures, by a condition on a tensor")
        self.outputs, self._structure = outputs, structure
        return list(leaves(outputs))

    def _extended(self, segment: Segment, outcomes: tuple[bool, ...], found: Segment) -> Segment:
        """Return a tree with a branch filled in, unless another thread filled it in before."""
        if not outcomes:
            return found if isinstance(segment.end, Unexplored) else segment
        assert isinstance(segment.end, Fork)
        condition, yes, no, _ = segment.end
        if outcomes[0]:
            yes = self._extended(yes, outcomes[1:], found)
        else:
            no = self._extended(no, outcomes[1:], found)
        return Segment(segment.calls, _forked(condition, yes, no))


def _forked(condition: Condition, yes: Segment, no: Segment) -> Fork:
    same = _on_both(_outputs_on_all_paths(yes), _outputs_on_all_paths(no)) or {}
    return Fork(condition, yes, no, {place: number for place, number in same.items() if number < condition.known})


def _outputs_on_all_paths(segment: Segment) -> dict[int, int] | None:
    """Return the outputs that are the same symbol on all paths; None where no path was recorded yet."""
    match segment.end:
        case Unexplored():
            return None
        case Untraced():
            return {}
        case Fork(_, yes, no):
            return _on_both(_outputs_on_all_paths(yes), _outputs_on_all_paths(no))
        case outputs:
            return {place: output.number for place, output in enumerate(outputs) if isinstance(output, Symbol)}


def _on_both(yes: dict[int, int] | None, no: dict[int, int] | None) -> dict[int, int] | None:
    if yes is None or no is None:
        return no if yes is None else yes
    return dict(yes.items() & no.items())


def _equal(one: Any, other: Any) -> bool:
    """Return whether two recorded lists of calls, or parts of them, are the same."""
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
