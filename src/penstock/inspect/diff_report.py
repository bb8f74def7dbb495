"""What a comparison of two datasets found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from penstock.conversion.write_tables import json_value
from penstock.integrity.problems import Problem
from penstock.integrity.report import Report, plural
from penstock.schema import Feature
from penstock.schema.observed_features import RecordLocation

Change: TypeAlias = Literal["changed", "removed", "added"]


@dataclass(frozen=True)
class SchemaDifference:
    """A feature that one schema lacks, or that the schemas describe differently."""

    name: str
    a: Feature | None
    b: Feature | None

    def _document(self) -> dict[str, Any]:
        return {
            "feature": self.name,
            **{side: None if f is None else repr(f) for side, f in (("a", self.a), ("b", self.b))},
        }


@dataclass(frozen=True)
class RecordDifference:
    """A record that differs, or that one side lacks."""

    change: Change
    a: RecordLocation | None
    """Where the record is in A; None if it was added."""
    b: RecordLocation | None
    """Where it is in B; None if it was removed."""
    values: dict[str, tuple[Any, Any]]
    """The features that differ, with their values in A and B; None is an absent one."""
    key: Any = None
    """The value of the key, when records are matched by one."""

    def _document(self) -> dict[str, Any]:
        def place(location: RecordLocation | None) -> dict[str, Any] | None:
            return None if location is None else {"path": location.path, "record": location.record}

        values = {name: {"a": json_value(a), "b": json_value(b)} for name, (a, b) in self.values.items()}
        key = json_value(self.key)
        return {"change": self.change, "key": key, "a": place(self.a), "b": place(self.b), "values": values}


@dataclass(frozen=True)
class DiffReport(Report):
    """What :func:`penstock.diff` found.

    >>> print(ps.diff("train", "train"))
    100 records in A, 100 in B: equal
    """

    by: str | None
    """The feature that records were matched by; None if by position."""
    a_records: int
    """How many records of A were read."""
    b_records: int
    """How many records of B were read."""
    schema: tuple[SchemaDifference, ...]
    """The features that differ."""
    changed: int
    """How many records have other values."""
    removed: int
    """How many records only A has."""
    added: int
    """How many records only B has."""
    bytes_only: int
    """How many records are equal by value, but stored as other bytes: features in another order, for example."""
    unmatched: int
    """How many records have no counterpart that could be read: it may be in the damage of the other side."""
    differences: tuple[RecordDifference, ...]
    """The first records that changed, were removed and were added."""
    problems: tuple[Problem, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether both sides were read and have the same schema and records.

        >>> ps.diff("train", "train").equal
        True
        """
        return self.ok and not (self.schema or self.changed or self.removed or self.added or self.unmatched)

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the report as JSON values; ``advise`` returns an ``"advice"`` for each problem."""
        counts = ("changed", "removed", "added", "bytes_only", "unmatched")
        return {
            "equal": self.equal,
            "by": self.by,
            "records": {"a": self.a_records, "b": self.b_records},
            "schema": [difference._document() for difference in self.schema],
            **{name: getattr(self, name) for name in counts},
            "differences": [difference._document() for difference in self.differences],
            "problems": [problem._document(advise) for problem in self.problems],
        }

    @property
    def summary(self) -> str:
        """The counts in a line.

        >>> ps.diff("train", "train").summary
        '100 records in A, 100 in B: equal'
        """
        counts = {"changed": self.changed, "only in A": self.removed, "only in B": self.added}
        counts |= {"not compared": self.unmatched}
        parts = [f"{count:,} {what}" for what, count in counts.items() if count]
        if self.schema:
            parts.append(f"{plural(len(self.schema), 'feature')} of the schema differ" + "s" * (len(self.schema) == 1))
        if not parts:
            parts.append("equal" if self.ok else "no differences where both could be read")
        if self.bytes_only:
            parts.append(f"{self.bytes_only:,} equal by value in other bytes")
        return f"{plural(self.a_records, 'record')} in A, {self.b_records:,} in B: {', '.join(parts)}"

    def __str__(self) -> str:
        return "\n".join([self.summary, *map(str, self.problems)])
