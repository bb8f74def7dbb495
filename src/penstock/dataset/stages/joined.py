"""Several flows as one: behind one another, side by side, or mixed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.dataset.block import Block, Cursor, Elements, Flow, OpenFlow
from penstock.dataset.meter import Meter
from penstock.dataset.order import Keys
from penstock.dataset.stages.cursor import epoch_of, is_start, start_of
from penstock.dataset.stages.elements import each, join, join_keys, pick, pick_keys, placed
from penstock.dataset.stages.function import RandomNumbers
from penstock.dataset.stages.repeated import RepeatedFlow
from penstock.dataset.stages.supply import Supply

# Elements of several flows have keys that differ: the number of the flow stands above any number of rows.
_CHILD = 2**52

# So many choices of a mix are drawn at once.
_DRAWN = 1024


class ConcatFlow:
    """One flow behind another."""

    def __init__(self, children: Sequence[OpenFlow]) -> None:
        self._children = children

    def open(self, cursor: Cursor) -> Flow:
        """Start at a cursor."""
        if is_start(cursor):
            cursor = {"epoch": epoch_of(cursor), "child": 0, "up": start_of(epoch_of(cursor))}
        epoch, up = cursor["epoch"], cursor["up"]
        for number in range(cursor["child"], len(self._children)):
            with closing(self._children[number](up)) as blocks:
                for block in blocks:
                    place = {"epoch": epoch, "child": number}
                    given = replace(block, keys=_keys_of_child(block.keys, number))
                    yield placed(given, place | {"up": block.start}, place | {"up": block.stop})
            up = start_of(epoch)


class ZipFlow:
    """Elements of all flows side by side, as tuples; the shortest ends them."""

    def __init__(self, children: Sequence[OpenFlow]) -> None:
        self._children = children

    def open(self, cursor: Cursor) -> Flow:
        """Start at a cursor."""
        places = [cursor] * len(self._children) if is_start(cursor) else cursor["places"]
        with ExitStack() as stack:
            supplies = [
                stack.enter_context(closing(Supply(child, place)))
                for child, place in zip(self._children, places, strict=True)
            ]
            while count := min((supply.ready() for supply in supplies), default=0):
                start = {"places": [supply.place for supply in supplies]}
                parts = [supply.take_ready(count) for supply in supplies]
                stop = {"places": [supply.place for supply in supplies]}
                elements = list(zip(*(each(part.elements) for part in parts), strict=True))
                yield Block(elements, parts[0].keys, start, stop)


class Mixed:
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
                None if place is None else stack.enter_context(closing(Supply(child, place)))
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
                        raise ValueError(f"data set {number} of the mix has no elements to start again with")
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

    def among(self, at: int, supplies: Sequence[Supply | None]) -> NDArray[np.intp]:
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


def _interleaved(chosen: NDArray[np.intp], supplies: Sequence[Supply | None]) -> tuple[Elements, Keys]:
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


def _place(epoch: int, supplies: Sequence[Supply | None], at: int) -> Cursor:
    return {"epoch": epoch, "at": at, "places": [supply and supply.place for supply in supplies]}


def _keys_of_child(keys: Keys, number: int) -> Keys:
    return Keys(keys.rows + number * _CHILD, keys.epochs)


def _without_end(child: OpenFlow, cursor: Cursor) -> Flow:
    return RepeatedFlow().open(child, cursor, Meter())
