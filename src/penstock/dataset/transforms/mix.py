"""mix(): elements drawn from several datasets at random."""

from __future__ import annotations

import math
import operator
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial, reduce
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
from penstock.dataset.order import Epoch, Files, Ints, Order, RowKeys, join_text
from penstock.dataset.pipeline import JoinStart
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.stage import ElementSupply
from penstock.dataset.transforms.repeat import RepeatOrder, RepeatStage
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
        indexed = self._indexed()
        return None if indexed is None else indexed.length(which)

    @property
    def is_indexed(self) -> bool:
        return self._can_index() is not None

    def reordered(self, change: Callable[[Order], Order]) -> ReadRows | None:
        indexed = self._indexed()
        return None if indexed is None else indexed.reordered(change)

    def _can_index(self) -> list[ReadRows] | None:
        """Return the rows that the pipelines read, where all of them read local files in the same way."""
        reads = [child.start for child in self.children if isinstance(child.start, ReadRows) and not child.stages]
        if len(reads) < len(self.children) or any(one.batches is not None or one.filters for one in reads):
            return None
        # Remote files are streamed: rows of several of them would be a request each.
        same = all(not one.is_remote and reads[0].source.can_concat(one.source) for one in reads)
        return reads if same else None

    def _indexed(self) -> ReadRows | None:
        reads = self._can_index()
        if reads is None:
            return None
        orders = [RepeatOrder(one.rows, None) if self.stop == "never" else one.rows for one in reads]
        files = [one.source.shards for one in reads]
        source = reduce(operator.add, (one.source for one in reads))
        return ReadRows(source, MixOrder(orders, files, self.weights, self.seed, self.stop))

    def call(self, children: list[list[str]]) -> str:
        return _call(children, self.weights, self.seed, self.stop)

    def describe(self) -> list[Any]:
        children = [child.describe() for child in self.children]
        return [["mix", *children, list(self.weights), self.seed, self.stop]]


def _call(children: Sequence[Sequence[str]], weights: Sequence[float], seed: int, stop: Stop) -> str:
    return join_text("mix", children, weights=list(weights), seed=seed, stop=None if stop == "first" else stop)


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
                chosen = choices.among(at, [supply is not None for supply in supplies])
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

    def among(self, at: int, are_alive: Sequence[bool] | NDArray[np.bool_]) -> NDArray[np.intp]:
        """Draw flows for elements from number ``at`` on, among those that have not ended."""
        stretch, offset = divmod(at, _DRAWN)
        if self._drawn[0] != stretch:
            # Negative numbers are no rows, so that no function gets the same random numbers.
            self._drawn = stretch, self._random.of(self._epoch, -1 - stretch).random(_DRAWN)
        alive = np.flatnonzero(are_alive)
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


class MixOrder(Order):
    """The orders of datasets that are read in the same way, mixed: element i has an index, whatever i is.

    Which dataset each element comes from is drawn again from the start of an epoch, as far as it is needed; 8 bytes for
    each dataset are stored for every 1,024 elements.
    """

    def __init__(
        self, orders: Sequence[Order], files: Sequence[Files], weights: Sequence[float], seed: int, stop: Stop
    ) -> None:
        self._orders, self._files, self._weights = tuple(orders), tuple(files), tuple(weights)
        self._seed, self._stop = seed, stop
        self._drawn: tuple[Epoch, _Drawn] | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._orders, self._files, self._weights, self._seed, self._stop)

    def length(self, which: Epoch) -> int | None:
        lengths = self._lengths(which)
        known = [length for length in lengths if length is not None]
        if self._stop == "never" or not known or (self._stop == "all" and len(known) < len(lengths)):
            return None
        return sum(known) if self._stop == "all" else self._draw(which, sys.maxsize)

    def length_up_to(self, most: int, which: Epoch) -> int:
        return min(most, self._draw(which, most))

    def at(self, positions: Ints, which: Epoch) -> RowKeys:
        rows, epochs = np.empty_like(positions), np.empty_like(positions)
        self._draw(which, int(positions.max()) + 1 if len(positions) else 0)
        numbers, within = np.empty_like(positions), np.empty_like(positions)
        stretches = positions // _DRAWN
        with self._lock:
            drawn = self._of(which)
            for stretch in np.unique(stretches).tolist():
                mine = stretches == stretch
                numbers[mine], within[mine] = drawn.places(stretch, positions[mine] - stretch * _DRAWN)
        first_row = 0
        for number, (order, files) in enumerate(zip(self._orders, self._files, strict=True)):
            mine = numbers == number
            if mine.any():
                found = order.at(within[mine], which)
                rows[mine], epochs[mine] = found.rows + first_row, found.epochs
            first_row += files.rows if number + 1 < len(self._files) else 0
        return RowKeys(rows, epochs)

    def _draw(self, which: Epoch, most: int) -> int:
        """Draw until there are ``most`` elements; return how many there are."""
        with self._lock:
            return self._of(which).draw(most)

    def _of(self, which: Epoch) -> _Drawn:
        if self._drawn is None or self._drawn[0] != which:
            drawn = _Drawn(self._lengths(which), self._weights, self._seed, which.epoch, self._stop)
            self._drawn = which, drawn
        return self._drawn[1]

    def _lengths(self, which: Epoch) -> list[int | None]:
        return [order.length(which) for order in self._orders]

    @property
    def seeks(self) -> bool:
        return any(order.seeks for order in self._orders)

    @property
    def reach(self) -> int:
        return max(order.reach for order in self._orders)

    @property
    def is_sharded(self) -> bool:
        return any(order.is_sharded for order in self._orders)

    @property
    def calls(self) -> list[str]:
        return [_call([order.calls for order in self._orders], self._weights, self._seed, self._stop)]

    def describe(self) -> list[Any]:
        children = [order.describe() for order in self._orders]
        return [["mix", *children, list(self._weights), self._seed, self._stop]]


class _Drawn:
    """Which dataset each element of an epoch comes from, drawn in stretches of 1,024 elements."""

    def __init__(
        self, lengths: Sequence[int | None], weights: Sequence[float], seed: int, epoch: int, stop: Stop
    ) -> None:
        self._lengths = [sys.maxsize if length is None else length for length in lengths]
        self._stop = stop
        self._choices = _Choices(seed, epoch, np.array(weights, np.float64))
        self._starts = [(np.zeros(len(lengths), np.int64), np.ones(len(lengths), np.bool_))]
        """Before each stretch: how many elements each dataset has given, and which have not ended."""
        self._ended: int | None = None

    def draw(self, most: int) -> int:
        """Draw until there are ``most`` elements; return how many there are."""
        while self._ended is None and (len(self._starts) - 1) * _DRAWN < most:
            self._stretch(len(self._starts) - 1)
        return (len(self._starts) - 1) * _DRAWN if self._ended is None else self._ended

    def places(self, stretch: int, positions: Ints) -> tuple[Ints, Ints]:
        """Return the dataset of elements of a stretch, and their positions in it."""
        chosen = self._stretch(stretch)
        within = np.empty(len(chosen), np.int64)
        for number, given in enumerate(self._starts[stretch][0].tolist()):
            mine = chosen == number
            within[mine] = given + np.arange(np.count_nonzero(mine))
        return chosen[positions], within[positions]

    def _stretch(self, stretch: int) -> Ints:
        given, alive = self._starts[stretch][0].copy(), self._starts[stretch][1].copy()
        chosen = np.empty(_DRAWN, np.int64)
        at = 0
        while at < _DRAWN and alive.any():
            drawn = self._choices.among(stretch * _DRAWN + at, alive)
            counted = [np.flatnonzero(drawn == number) for number in range(len(given))]
            rooms = [length - count for length, count in zip(self._lengths, given.tolist(), strict=True)]
            cut = min(
                int(mine[room]) if room < len(mine) else len(drawn) for mine, room in zip(counted, rooms, strict=True)
            )
            chosen[at : at + cut] = drawn[:cut]
            given += np.array([np.count_nonzero(mine < cut) for mine in counted], np.int64)
            at += cut
            if at < _DRAWN:  # a dataset is drawn that has ended
                if self._stop == "never":
                    raise ValueError(f"dataset {drawn[cut]} of the mix is empty and cannot start again")
                alive[drawn[cut]] = False
                if self._stop == "first":
                    alive[:] = False
        if at < _DRAWN:
            self._ended = stretch * _DRAWN + at
        if stretch == len(self._starts) - 1:
            self._starts.append((given, alive))
        return chosen[:at]
