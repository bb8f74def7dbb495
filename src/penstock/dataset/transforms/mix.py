"""mix(): elements drawn from several datasets at random."""

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
    child_keys,
    concat_elements,
    concat_keys,
    epoch_of,
    is_start,
    start_of,
    take_elements,
    take_keys,
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
    """Elements of several pipelines, drawn at random by weights."""

    weights: tuple[float, ...]
    seed: int
    stop: Stop

    def __post_init__(self) -> None:
        count = len(self.children)
        if len(self.weights) != count or not all(0 < weight < math.inf for weight in self.weights):
            raise ValueError(f"a mix of {count} datasets has {count} weights above 0; found {list(self.weights)}")
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


# Choices that are drawn at once.
_DRAWN = 1024


class MixFlow:
    """Elements of several flows: which flow element i comes from depends on the seed, the epoch and i alone.

    Args:
        weights: How often each flow is drawn from, in proportion.
        stop: What happens when a flow that is drawn has ended. ``first`` ends the mix, ``all`` continues with the
            others, ``never`` starts the flow again, as its next epoch.
    """

    def __init__(
        self,
        children: Sequence[OpenFlow],
        *,
        weights: Sequence[float],
        seed: int,
        stop: Literal["first", "all", "never"] = "first",
    ) -> None:
        self._children = [partial(_endless, child) if stop == "never" else child for child in children]
        self._weights = np.array(weights, np.float64)
        self._seed, self._stop = seed, stop

    def open(self, cursor: Cursor) -> Flow:
        """Open the flow at a cursor."""
        if is_start(cursor):
            epoch = epoch_of(cursor)
            cursor = {"epoch": epoch, "at": 0, "places": [start_of(epoch)] * len(self._children)}
        with ExitStack() as stack:
            supplies = [
                None if child_cursor is None else stack.enter_context(closing(ElementSupply(child, child_cursor)))
                for child, child_cursor in zip(self._children, cursor["places"], strict=True)
            ]
            choices = _Choices(self._seed, cursor["epoch"], self._weights)
            cursor_at = partial(_cursor_at, cursor["epoch"], supplies)
            at = cursor["at"]
            while any(supplies):
                # A block is everything that is ready, so that blocks are the same after a resume.
                ready = [0 if supply is None else supply.ready() for supply in supplies]
                chosen = choices.among(at, supplies)
                number = int(chosen[0])
                if not ready[number]:
                    if self._stop == "first":
                        return
                    if self._stop == "never":
                        raise ValueError(f"dataset {number} of the mix is empty and cannot start again")
                    supplies[number] = None
                    continue
                start = cursor_at(at)
                chosen = chosen[: _served(chosen, ready)]
                elements, keys = _interleaved(chosen, supplies)
                at += len(chosen)
                yield Block(elements, keys, start, cursor_at(at))


class _Choices:
    """Which flow each element comes from."""

    def __init__(self, seed: int, epoch: int, weights: NDArray[np.float64]) -> None:
        self._random, self._epoch, self._weights = RandomNumbers(seed), epoch, weights
        self._drawn: tuple[int, NDArray[np.float64]] = (-1, weights[:0])

    def among(self, at: int, supplies: Sequence[ElementSupply | None]) -> NDArray[np.intp]:
        """Draw flows for elements from number ``at`` on, among those that have not ended."""
        stretch, offset = divmod(at, _DRAWN)
        if self._drawn[0] != stretch:
            # Negative numbers are no rows, so that no function gets the same random numbers.
            self._drawn = stretch, self._random.of(self._epoch, -1 - stretch).random(_DRAWN)
        alive = np.flatnonzero([supply is not None for supply in supplies])
        bounds = np.cumsum(self._weights[alive])
        numbers = self._drawn[1][offset:] * bounds[-1]
        # Rounding can move a number to the last bound.
        chosen: NDArray[np.intp] = alive[np.minimum(np.searchsorted(bounds, numbers, side="right"), len(alive) - 1)]
        return chosen


def _served(chosen: NDArray[np.intp], ready: Sequence[int]) -> int:
    """Return how many choices the elements that are ready can serve."""
    unserved = (np.flatnonzero(chosen == number)[count : count + 1] for number, count in enumerate(ready))
    return min(chain([len(chosen)], map(int, chain.from_iterable(unserved))))


def _interleaved(chosen: NDArray[np.intp], supplies: Sequence[ElementSupply | None]) -> tuple[Elements, RowKeys]:
    parts = {
        number: supply.take_ready(count)
        for number, supply in enumerate(supplies)
        if supply is not None and (count := int(np.count_nonzero(chosen == number)))
    }
    keys = concat_keys([child_keys(part.keys, number) for number, part in parts.items()])
    order = np.empty(len(chosen), np.intp)
    order[np.argsort(chosen, kind="stable")] = np.arange(len(chosen))
    positions = order.tolist()
    return take_elements(concat_elements([part.elements for part in parts.values()]), positions), take_keys(
        keys, positions
    )


def _cursor_at(epoch: int, supplies: Sequence[ElementSupply | None], at: int) -> Cursor:
    return {"epoch": epoch, "at": at, "places": [supply and supply.cursor for supply in supplies]}


def _endless(child: OpenFlow, cursor: Cursor) -> Flow:
    return RepeatStage().open(child, cursor, Meter())
