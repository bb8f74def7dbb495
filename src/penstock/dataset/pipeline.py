"""A pipeline: where elements come from, and what is done to them on their way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from penstock.dataset.block import Cursor, Flow, OpenFlow
from penstock.dataset.order import Epoch, Order
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows, start_cursor
from penstock.dataset.stage import Stage
from penstock.errors import StateError


class Start(Protocol):
    """Where elements come from: rows that are read, or several datasets joined."""

    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        """Start at a cursor."""

    def length(self, which: Epoch) -> int | None:
        """Count the elements of a pass; None: there is no end, or nobody knows."""

    def describe(self) -> list[Any]:
        """Say in JSON what decides the elements and their order."""

    def reordered(self, change: Callable[[Order], Order]) -> Start | None:
        """Change the order of the elements; None where they have no index."""

    @property
    def identities(self) -> list[str]:
        """Names for the content of the files."""

    @property
    def world(self) -> Any:
        """Into how many shares the elements are dealt out, in JSON."""


@dataclass(frozen=True)
class Pipeline:
    """A start and the stages behind it. Immutable, and pickles."""

    start: Start
    stages: tuple[Stage, ...] = ()

    def then(self, stage: Stage) -> Pipeline:
        """Put a stage behind the others."""
        return replace(self, stages=(*self.stages, stage))

    @property
    def reads(self) -> ReadRows | None:
        """The rows that are read, where element i is made of row, or batch, i of them and of nothing else."""
        indexed = isinstance(self.start, ReadRows) and all(stage.one_to_one for stage in self.stages)
        return self.start if indexed and isinstance(self.start, ReadRows) else None

    def require_reads(self, verb: str) -> ReadRows:
        """Return :attr:`reads`; raise TypeError where elements are not made of single rows."""
        if self.reads is None:
            raise TypeError(
                f"{verb} comes before filter(), bucket(), unbatch(), cache() and before datasets are joined"
            )
        return self.reads

    def with_start(self, start: Start) -> Pipeline:
        """Return the same stages after another start."""
        return replace(self, start=start)

    def reordered(self, change: Callable[[Order], Order]) -> Pipeline | None:
        """Change the order of the elements; return None where they have no index."""
        start = self.start.reordered(change) if all(stage.one_to_one for stage in self.stages) else None
        return None if start is None else self.with_start(start)

    def reorder(
        self, change: Callable[[Order], Order], verb: str, *, fallback: Stage | None = None, hint: str = ""
    ) -> Pipeline:
        """Change the order of the elements, or apply ``fallback`` to elements without an index.

        Raises:
            TypeError: The elements have no index and there is no fallback.
        """
        reordered = self.reordered(change)
        if reordered is not None:
            return reordered
        if fallback is None:
            raise TypeError(
                f"{verb} needs elements with an index: it comes before filter(), bucket(), unbatch(), mix() and "
                f"cache(){hint}"
            )
        return self.then(fallback)

    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        """Start at a cursor of the last stage."""
        return self._opener(len(self.stages), meter)(cursor)

    def _opener(self, stages: int, meter: Meter) -> OpenFlow:
        if stages == 0:
            return lambda cursor: self.start.open(cursor, meter)
        upstream = self._opener(stages - 1, meter)
        return lambda cursor: self.stages[stages - 1].open(upstream, cursor, meter)

    def length(self, which: Epoch) -> int | None:
        """Count the elements of a pass; None: there is no end, or nobody knows."""
        length = self.start.length(which)
        for stage in self.stages:
            length = stage.length(length)
        return length

    def describe(self) -> list[Any]:
        """Say in JSON what decides the elements and their order."""
        stages = [stage.describe() for stage in self.stages]
        return [*self.start.describe(), *(described for described in stages if described)]

    def common_cursor(self, cursor: Cursor, given: int) -> Cursor:
        """Return where any number of ranks goes on when all ranks have ``given`` elements of a block at ``cursor``."""
        if self.reads is None:
            raise StateError("which rank has seen which record is known only where element i is made of record i")
        here = start_cursor(0) | cursor
        return self.reads.common_cursor(here | {"position": here["position"] + given})


@dataclass(frozen=True)
class JoinStart(ABC):
    """Pipelines whose elements flow together."""

    children: tuple[Pipeline, ...]

    @abstractmethod
    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        """Start at a cursor."""

    @abstractmethod
    def length(self, which: Epoch) -> int | None:
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

    def reordered(self, change: Callable[[Order], Order]) -> JoinStart | None:
        """Change the order of the elements; None where they have no index."""
        return None

    def _openers(self, meter: Meter) -> list[OpenFlow]:
        return [lambda cursor, child=child: child.open(cursor, meter) for child in self.children]  # type: ignore[misc]

    def _lengths(self, which: Epoch) -> list[int | None]:
        return [child.length(which) for child in self.children]
