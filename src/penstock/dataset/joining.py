"""Several data sets as one: behind one another, side by side, or mixed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from penstock.dataset.block import Cursor, Flow, OpenFlow
from penstock.dataset.meter import Meter
from penstock.dataset.order import Joined, Order, Pass, Range
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.reads import Reads
from penstock.dataset.stages.joined import ConcatFlow, Mixed, ZipFlow

Stop: TypeAlias = Literal["first", "all", "never"]


@dataclass(frozen=True)
class Joining(ABC):
    """Pipelines whose elements flow together."""

    children: tuple[Pipeline, ...]

    @abstractmethod
    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        """Start at a cursor."""

    @abstractmethod
    def length(self, which: Pass) -> int | None:
        """Count the elements of a pass; None: there is no end, or nobody knows."""

    @abstractmethod
    def describe(self) -> list[Any]:
        """Say in JSON what decides the elements and their order."""

    @property
    def identities(self) -> list[str]:
        """Names for the content of the files."""
        return [name for child in self.children for name in child.start.identities]

    @property
    def world(self) -> list[Any]:
        """Into how many shares the elements of each are dealt out."""
        return [child.start.world for child in self.children]

    def reordered(self, change: Callable[[Order], Order]) -> Joining | None:
        """Change the order of the elements; None where they have no index."""
        return None

    def _openers(self, meter: Meter) -> list[OpenFlow]:
        return [lambda cursor, child=child: child.open(cursor, meter) for child in self.children]  # type: ignore[misc]

    def _lengths(self, which: Pass) -> list[int | None]:
        return [child.length(which) for child in self.children]


@dataclass(frozen=True)
class Concatenated(Joining):
    """One behind another."""

    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        return ConcatFlow(self._openers(meter)).open(cursor)

    def length(self, which: Pass) -> int | None:
        total = 0
        for length in self._lengths(which):
            if length is None:
                return None
            total += length
        return total

    def describe(self) -> list[Any]:
        return [["concat", *(child.describe() for child in self.children)]]


def concatenated(first: Pipeline, second: Pipeline) -> Pipeline:
    """Put one pipeline behind another: where both read rows alike, as one that reads all files, and has an index."""
    one, other = first.start, second.start
    if (
        isinstance(one, Reads)
        and isinstance(other, Reads)
        and not (first.stages or second.stages)
        and one.source.joins(other.source)
    ):
        order = Joined(one.rows, other.rows, one.source.shards)
        return Pipeline(Reads(one.source + other.source, order))
    return Pipeline(Concatenated((first, second)))


@dataclass(frozen=True)
class Zipped(Joining):
    """Side by side: elements are tuples, and the shortest ends them."""

    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        return ZipFlow(self._openers(meter)).open(cursor)

    def length(self, which: Pass) -> int | None:
        return min((length for length in self._lengths(which) if length is not None), default=None)

    def reordered(self, change: Callable[[Order], Order]) -> Zipped | None:
        shortest = self.length(Pass())
        children = tuple(child.reordered(lambda order: change(Range(order, 0, shortest))) for child in self.children)
        whole = tuple(child for child in children if child is not None)
        return Zipped(whole) if len(whole) == len(children) else None

    def describe(self) -> list[Any]:
        return [["zip", *(child.describe() for child in self.children)]]


@dataclass(frozen=True)
class Mixture(Joining):
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
        return Mixed(self._openers(meter), weights=self.weights, seed=self.seed, stop=self.stop).open(cursor)

    def length(self, which: Pass) -> int | None:
        return None

    def describe(self) -> list[Any]:
        children = [child.describe() for child in self.children]
        return [["mix", *children, list(self.weights), self.seed, self.stop]]
