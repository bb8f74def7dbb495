"""Pipeline: where elements come from, the stages after it, and the facts that callers need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from penstock.dataset.block import Cursor, Flow, OpenFlow
from penstock.dataset.order import Epoch, Order
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows, place_of
from penstock.dataset.source.row_source import RowSource
from penstock.dataset.stage import Stage
from penstock.errors import StateError
from penstock.schema import Schema


class Start(Protocol):
    """Where elements come from: rows that are read, or several pipelines joined. No fact reads a file."""

    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        """Start at a cursor."""

    def length(self, which: Epoch) -> int | None:
        """Count the elements of an epoch; None where it has no end or only reading it would show."""

    def describe(self) -> list[Any]:
        """Return in JSON what decides the elements and their order. Saved states compare it."""

    def reordered(self, change: Callable[[Order], Order]) -> Start | None:
        """Change the order of the elements; return None where they have no index."""

    @property
    def identities(self) -> list[str]:
        """Identities of the files by their content."""

    @property
    def world(self) -> Any:
        """The number of ranks that share the elements; a list of them where pipelines are joined."""

    @property
    def is_sharded(self) -> bool:
        """Whether any elements are the share of one rank."""

    @property
    def is_indexed(self) -> bool:
        """Whether elements have an index, so that their order can be changed."""

    @property
    def is_remote(self) -> bool:
        """Whether any files are remote."""

    @property
    def yields_batches(self) -> bool:
        """Whether any elements are batches."""


@dataclass(frozen=True)
class Pipeline:
    """A start and the stages after it. Immutable; pickles. No fact reads a file."""

    start: Start
    stages: tuple[Stage, ...] = ()

    @property
    def reads(self) -> ReadRows | None:
        """The rows that are read, where element i is made of row, or batch, i of them and of nothing else."""
        return self.start if self.is_indexed and isinstance(self.start, ReadRows) else None

    @property
    def is_indexed(self) -> bool:
        """Whether elements have an index: ``reordered`` changes their order."""
        return self.start.is_indexed and all(stage.one_to_one for stage in self.stages)

    @property
    def is_sharded(self) -> bool:
        """Whether any elements are the share of one rank."""
        return self.start.is_sharded or any(stage.is_sharded for stage in self.stages)

    @property
    def world(self) -> Any:
        """The number of ranks that share the rows; a list of them where pipelines are joined."""
        return self.start.world

    @property
    def yields_batches(self) -> bool:
        """Whether elements are batches, as far as functions leave them what they are."""
        changes = [stage.groups_rows for stage in self.stages if stage.groups_rows is not None]
        return changes[-1] if changes else self.start.yields_batches

    @property
    def keeps_rows(self) -> bool:
        """Whether elements are rows of files, chosen or grouped but not changed."""
        return isinstance(self.start, ReadRows) and all(stage.keeps_rows for stage in self.stages)

    @property
    def is_in_memory(self) -> bool:
        """Whether all elements are in memory after the first epoch, apart from functions applied to each of them."""
        for stage in reversed(self.stages):
            if stage.is_in_memory or not stage.one_to_one:
                return stage.is_in_memory
        return False

    @property
    def is_remote(self) -> bool:
        """Whether any files are remote."""
        return self.start.is_remote

    @property
    def schema(self) -> Schema | None:
        """The schema of the rows before any function changes them; None where datasets are joined."""
        return self._schemas[0]

    @property
    def schema_of_elements(self) -> Schema | None:
        """The schema of the rows; None where a function made them, or where datasets are joined."""
        return self._schemas[1]

    @property
    def _schemas(self) -> tuple[Schema | None, Schema | None]:
        if not isinstance(self.start, ReadRows):
            return None, None
        schema = self.start.source.schema_to_write
        for stage in self.stages:
            changed = stage.schema_after(schema)
            if changed is None:
                return schema, None
            schema = changed
        return schema, schema

    def change_source(self, change: Callable[[RowSource], RowSource]) -> Pipeline | None:
        """Change the columns that are read; return None where a stage uses columns by their names."""
        start = self.start
        if not isinstance(start, ReadRows) or not all(stage.ignores_columns for stage in self.stages):
            return None
        return self.with_start(replace(start, source=change(start.source)))

    def then(self, stage: Stage) -> Pipeline:
        """Append a stage."""
        return replace(self, stages=(*self.stages, stage))

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
        start = self.start.reordered(change) if self.is_indexed else None
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
        """Open the flow at a cursor of the last stage."""
        return self._opener(len(self.stages), meter)(cursor)

    def _opener(self, stages: int, meter: Meter) -> OpenFlow:
        if stages == 0:
            return lambda cursor: self.start.open(cursor, meter)
        upstream = self._opener(stages - 1, meter)
        return lambda cursor: self.stages[stages - 1].open(upstream, cursor, meter)

    def length(self, which: Epoch) -> int | None:
        """Count the elements of an epoch; None where it has no end or only reading it would show."""
        length = self.start.length(which)
        for stage in self.stages:
            length = stage.length(length)
        return length

    def describe(self) -> list[Any]:
        """Return in JSON what decides the elements and their order. Saved states compare it."""
        stages = [stage.describe() for stage in self.stages]
        return [*self.start.describe(), *(described for described in stages if described)]

    def common_cursor(self, cursor: Cursor, given: int) -> Cursor:
        """Return where any number of ranks resumes once all ranks are ``given`` elements after ``cursor``."""
        if self.reads is None:
            raise StateError("which rank has seen which record is known only where element i is made of record i")
        here = place_of(cursor)
        return self.reads.common_cursor(here | {"position": here["position"] + given})


@dataclass(frozen=True)
class JoinStart(ABC):
    """Several pipelines joined into one."""

    children: tuple[Pipeline, ...]

    @abstractmethod
    def open(self, cursor: Cursor, meter: Meter) -> Flow:
        """Start at a cursor."""

    @abstractmethod
    def length(self, which: Epoch) -> int | None:
        """Count the elements of an epoch; None where it has no end or only reading it would show."""

    @abstractmethod
    def describe(self) -> list[Any]:
        """Return in JSON what decides the elements and their order. Saved states compare it."""

    @property
    def identities(self) -> list[str]:
        """Identities of the files by their content."""
        return [name for child in self.children for name in child.start.identities]

    @property
    def world(self) -> list[Any]:
        """The number of ranks that share the elements of each pipeline."""
        return [child.world for child in self.children]

    @property
    def is_sharded(self) -> bool:
        """Whether any pipeline is the share of one rank."""
        return any(child.is_sharded for child in self.children)

    @property
    def is_indexed(self) -> bool:
        """Whether elements have an index."""
        return False

    @property
    def is_remote(self) -> bool:
        """Whether any files are remote."""
        return any(child.is_remote for child in self.children)

    @property
    def yields_batches(self) -> bool:
        """Whether any elements are batches."""
        return any(child.yields_batches for child in self.children)

    @abstractmethod
    def call(self, children: list[list[str]]) -> str:
        """Return the method call that joins pipelines as text; ``children`` are the calls that made each of them."""

    def reordered(self, change: Callable[[Order], Order]) -> Start | None:
        """Return None: the elements have no index."""
        return None

    def _openers(self, meter: Meter) -> list[OpenFlow]:
        return [lambda cursor, child=child: child.open(cursor, meter) for child in self.children]  # type: ignore[misc]

    def _lengths(self, which: Epoch) -> list[int | None]:
        return [child.length(which) for child in self.children]
