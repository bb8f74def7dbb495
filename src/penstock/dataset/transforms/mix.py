"""Several datasets as one: behind one another, side by side, or mixed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from penstock.dataset.block import (
    Block,
    Cursor,
    Elements,
    Flow,
    OpenFlow,
    _keys_of_child,
    epoch_of,
    is_start,
    join,
    join_keys,
    pick,
    pick_keys,
    start_of,
)
from penstock.dataset.order import Epoch, RowKeys, join_text
from penstock.dataset.pipeline import JoinStart
from penstock.dataset.progress import Meter
from penstock.dataset.stage import ElementSupply
from penstock.dataset.transforms.repeat import RepeatStage
from penstock.dataset.workers import RandomNumbers

Stop: TypeAlias = Literal["first", "all", "never"]


@dataclass(frozen=True)
class MixStart(JoinStart):
    """Elements of one or another, chosen at random by weights."""

    weights: tuple[float, ...]
    seed: int
    stop: Stop

    def __post_init__(self) -> None:
        count = len(self.children)
        if len(self.weights) != count or not all(0 < weight < math.inf for weight in self.weights):
            raise ValueError(f"a mix of {count} has as many weights, all above 0; found {list(self.weights)}")
        if self.stop not in get_args(Stop):
            raise ValueError(f"stop is 'first', 'all' or 'never', not {self.stop!r}")

    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        return MixFlow(self._openers(meter), weights=self.weights, seed=self.seed, stop=self.stop).open(cursor)

    def length(self, which: Epoch) -> int | None:
        return None

    def call(self, children: list[list[str]]) -> str:
        weights, stop = list(self.weights), None if self.stop == "first" else self.stop
        return join_text("mix", children, weights=weights, seed=self.seed, stop=stop)

    def describe(self) -> list[Any]:
        children = [child.describe() for child in self.children]
        return [["mix", *children, list(self.weights), self.seed, self.stop]]


# So many choices of a mix are drawn at once.
_DRAWN = 1024


class MixFlow:
    """Elements of one flow or another: which one gives number i depends on the seed, the epoch and i alone.

    Args:
        weights: How often each flow is chosen, in proportion.
        stop: ``first``: ends when a flow that is chosen has no more; ``all``: goes on with the others; ``never``:
            starts it again, as its next epoch.
    """

    def __init__(
        self,
        children: Sequence[OpenFlow],
        *,
        weights: Sequence[float],
        seed: int,
        stop: Literal["first", "all", "never"] = "first",
    ) -> None:
        self._children = [partial(_without_end, child) if stop == "never" else child for child in children]
        self._weights = np.array(weights, np.float64)
        self._seed, self._stop = seed, stop

    def open(self, cursor: Cursor) -> Flow:
        """Start at a cursor."""
        if is_start(cursor):
            epoch = epoch_of(cursor)
            cursor = {"epoch": epoch, "at": 0, "places": [start_of(epoch)] * len(self._children)}
        with ExitStack() as stack:
            supplies = [
                None if place is None else stack.enter_context(closing(ElementSupply(child, place)))
                for child, place in zip(self._children, cursor["places"], strict=True)
            ]
            choices = _Choices(self._seed, cursor["epoch"], self._weights)
            place = partial(_place, cursor["epoch"], supplies)
            at = cursor["at"]
            while any(supplies):
                # A block of all that is at hand, whatever was asked before: so that it is the same after a resume.
                ready = [0 if supply is None else supply.ready() for supply in supplies]
                chosen = choices.among(at, supplies)
                number = int(chosen[0])
                if not ready[number]:
                    if self._stop == "first":
                        return
                    if self._stop == "never":
                        raise ValueError(f"dataset {number} of the mix has no elements to start again with")
                    supplies[number] = None
                    continue
                start = place(at)
                chosen = chosen[: _covered(chosen, ready)]
                elements, keys = _interleaved(chosen, supplies)
                at += len(chosen)
                yield Block(elements, keys, start, place(at))


class _Choices:
    """Which flow gives each element."""

    def __init__(self, seed: int, epoch: int, weights: NDArray[np.float64]) -> None:
        self._random, self._epoch, self._weights = RandomNumbers(seed), epoch, weights
        self._drawn: tuple[int, NDArray[np.float64]] = (-1, weights[:0])

    def among(self, at: int, supplies: Sequence[ElementSupply | None]) -> NDArray[np.intp]:
        """Choose for some elements from number ``at`` on, among the flows that have not ended."""
        stretch, offset = divmod(at, _DRAWN)
        if self._drawn[0] != stretch:
            # Rows are counted from 0 up, so these random numbers are no row's.
            self._drawn = stretch, self._random.of(self._epoch, -1 - stretch).random(_DRAWN)
        alive = np.flatnonzero([supply is not None for supply in supplies])
        bounds = np.cumsum(self._weights[alive])
        numbers = self._drawn[1][offset:] * bounds[-1]
        # Rounding may take a number up to the last bound.
        chosen: NDArray[np.intp] = alive[np.minimum(np.searchsorted(bounds, numbers, side="right"), len(alive) - 1)]
        return chosen


def _covered(chosen: NDArray[np.intp], ready: Sequence[int]) -> int:
    """Count the choices that can be met by the elements that are ready."""
    unmet = (np.flatnonzero(chosen == number)[count : count + 1] for number, count in enumerate(ready))
    return min(chain([len(chosen)], map(int, chain.from_iterable(unmet))))


def _interleaved(chosen: NDArray[np.intp], supplies: Sequence[ElementSupply | None]) -> tuple[Elements, RowKeys]:
    parts = {
        number: supply.take_ready(count)
        for number, supply in enumerate(supplies)
        if supply is not None and (count := int(np.count_nonzero(chosen == number)))
    }
    keys = join_keys([_keys_of_child(part.keys, number) for number, part in parts.items()])
    order = np.empty(len(chosen), np.intp)
    order[np.argsort(chosen, kind="stable")] = np.arange(len(chosen))
    positions = order.tolist()
    return pick(join([part.elements for part in parts.values()]), positions), pick_keys(keys, positions)


def _place(epoch: int, supplies: Sequence[ElementSupply | None], at: int) -> Cursor:
    return {"epoch": epoch, "at": at, "places": [supply and supply.place for supply in supplies]}


def _without_end(child: OpenFlow, cursor: Cursor) -> Flow:
    return RepeatStage().open(child, cursor, Meter())
