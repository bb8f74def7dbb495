"""The calls of a trace, by when they are made: those with effects in order, what they need before, the rest behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.tf.structure import leaves
from penstock.tf.trace import Fork, Stretch, Trace
from penstock.tf.tracing import Call, Symbol, has_effects


class InTurn(NamedTuple):
    """Calls that are made for each row in its turn; behind them there may be a condition, and others by its answer."""

    calls: list[Call]
    question: int | None = None
    yes: InTurn | None = None
    no: InTurn | None = None

    def following(self, known: Mapping[int, Any]) -> InTurn | None:
        """Answer what comes next for a row."""
        if self.question is None:
            return None
        return self.yes if known[self.question] else self.no


class Phases(NamedTuple):
    """The calls of a trace."""

    before: list[Call]
    """What those in order need: for a block of rows, ahead."""
    in_order: InTurn
    """Those with effects, what lies between them, and the conditions that decide on them: for each row in its turn."""
    behind: Stretch
    """All others: for many rows at once, when elements are wanted."""
    carried: frozenset[int]
    """The symbols that the last ones ask for, of inputs and of calls before."""
    made: frozenset[int]
    """And of calls in order, on any way."""

    def effects(self) -> str:
        """Name the operations with effects."""
        calls = _all_calls(self.in_order)
        return ", ".join(dict.fromkeys(f"tf.{call.name}" for call in calls if has_effects(call.name)))


def phases_of(trace: Trace) -> Phases:
    """Part the calls of a trace."""
    in_turn, behind, _ = _parted(trace.start)
    in_turn = in_turn or InTurn([])
    # Of what is made in each row's turn, all that depends on no effect could be made before, up to the first condition.
    before, late, made = list[Call](), list[Call](), set[int]()
    for call in in_turn.calls:
        if has_effects(call.name) or not made.isdisjoint(asked_by(call)):
            late.append(call)
            made.update(call.numbers)
        else:
            before.append(call)
    in_turn = in_turn._replace(calls=late)
    early = {symbol.number for symbol in trace.inputs}.union(*(call.numbers for call in before))
    later = {number for call in _all_calls(in_turn) for number in call.numbers}
    asked = _asked_behind(behind)
    return Phases(before, in_turn, behind, frozenset(asked & early), frozenset(asked & later))


def _parted(stretch: Stretch) -> tuple[InTurn | None, Stretch, set[int]]:
    """Answer the calls of a stretch, and of all behind it, that are made in turn; the others; what the first need."""
    calls, end = stretch
    needed: set[int] = set()
    following = InTurn([])
    if isinstance(end, Fork):
        (yes, yes_behind, of_yes), (no, no_behind, of_no) = _parted(end.yes), _parted(end.no)
        if yes or no:
            needed = of_yes | of_no | {end.question.symbol.number}
            following = InTurn([], end.question.symbol.number, yes, no)
        end = end._replace(yes=yes_behind, no=no_behind)
    in_turn: set[int] = set()  # places of calls
    for place in reversed(range(len(calls))):
        if has_effects(calls[place].name) or not needed.isdisjoint(calls[place].numbers):
            in_turn.add(place)
            needed |= asked_by(calls[place])
    others = Stretch([call for place, call in enumerate(calls) if place not in in_turn], end)
    if not in_turn and following.question is None:
        return None, others, needed
    return following._replace(calls=[calls[place] for place in sorted(in_turn)]), others, needed


def asked_by(structure: Any) -> set[int]:
    """Answer the numbers of the symbols that a call asks for, or that are in a structure."""
    parts = (structure.args, structure.kwargs) if isinstance(structure, Call) else structure
    return {leaf.number for leaf in leaves(parts) if isinstance(leaf, Symbol)}


def _asked_behind(stretch: Stretch) -> set[int]:
    """Answer the symbols that a stretch and all behind it ask for; some may be its own."""
    asked = {number for call in stretch.calls for number in asked_by(call)}
    if isinstance(stretch.end, Fork):
        question, yes, no, settled = stretch.end
        return asked | {question.symbol.number, *settled.values()} | _asked_behind(yes) | _asked_behind(no)
    return asked | asked_by(stretch.end)


def _all_calls(steps: InTurn | None) -> list[Call]:
    return [] if steps is None else [*steps.calls, *_all_calls(steps.yes), *_all_calls(steps.no)]
