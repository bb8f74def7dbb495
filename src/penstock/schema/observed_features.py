"""Observe the features of Examples and SequenceExamples that have no schema."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from penstock import _core
from penstock.errors import MalformedExampleError, SchemaError
from penstock.schema.feature import Kind, Shape
from penstock.schema.recognize_bytes import Form, recognize, recognize_payload

Section: TypeAlias = Literal["context", "sequence"]
# How many numbers of a list are read, as a sample; the others are only counted.
_SAMPLE_SIZE = 4


class Values(NamedTuple):
    """The list of one Feature: its kind (None if unset), its length, and its values (the first few numbers)."""

    kind: Kind | None
    length: int
    values: tuple[Any, ...]


class FoundFeature(NamedTuple):
    """One key of a record: one list in the context, or a list for each step of the sequence."""

    section: Section
    key: str
    steps: tuple[Values, ...]


def read_features(payload: bytes) -> list[FoundFeature]:
    """Read the features of a serialized Example or SequenceExample. If a key is repeated, the last one counts.

    Raises:
        MalformedExampleError: The bytes are malformed, or another message. A parser that skips unknown fields would
            read another message as an Example without features.
    """
    # On the wire an Example is a SequenceExample without feature lists.
    native = _core.sketch_example(payload, _SAMPLE_SIZE)
    if native is None:
        raise MalformedExampleError(f"its bytes are malformed{_seems(payload)}")
    if _core.is_other_message(payload):
        advice = "read the payloads with ps.RecordReader and parse them with the class of the message"
        raise MalformedExampleError(f"it is a message without features{_seems(payload)}; {advice}")
    context, sequence = native
    return [
        *(FoundFeature("context", _name(key), (_values(*feature),)) for key, feature in context.items()),
        *(
            FoundFeature("sequence", _name(key), tuple(_values(*step) for step in steps))
            for key, steps in sequence.items()
        ),
    ]


def _seems(payload: bytes) -> str:
    likely = recognize_payload(payload)
    return "" if likely is None else f"; it seems to be {likely}"


def _name(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def _values(kind: str, values: list[Any], length: int) -> Values:
    return Values(None if kind == "unset" else cast(Kind, kind), length, tuple(values))


@dataclass(frozen=True)
class RecordLocation:
    """The file and number of a record."""

    path: str
    record: int

    def __str__(self) -> str:
        return f"{self.path}, record {self.record}"


@dataclass
class Range:
    """The smallest and the largest number observed."""

    min: int | None = None
    max: int | None = None

    def add(self, number: int) -> None:
        """Extend the range to ``number``."""
        self.min = number if self.min is None else min(self.min, number)
        self.max = number if self.max is None else max(self.max, number)

    @property
    def constant(self) -> int | None:
        """The number, if all were equal."""
        return self.min if self.min == self.max else None

    def __str__(self) -> str:
        return str(self.min) if self.min == self.max else f"{self.min} to {self.max}"


@dataclass
class Observations:
    """Everything observed about one key."""

    section: Section
    key: str
    present: int = 0
    kind: Kind | None = None
    first: RecordLocation | None = None
    counts: Range = field(default_factory=Range)
    steps: Range = field(default_factory=Range)
    sizes: Range = field(default_factory=Range)
    forms: Counter[Form] = field(default_factory=Counter)
    dtypes: set[str] = field(default_factory=set)
    shape: Shape | None = None
    ranks: set[int] = field(default_factory=set)
    sample: str = ""

    def add(self, found: FoundFeature, location: RecordLocation) -> None:
        """Add the values of one record."""
        if self.section == "context" and found.steps[0].kind is None:
            return  # an unset feature counts as absent
        self.present += 1
        self.steps.add(len(found.steps))
        for values in found.steps:
            self._add_kind(values.kind, location)
            self.counts.add(values.length)
            for value in values.values if values.kind == "bytes" else ():
                self._add_bytes(value)
            if not self.sample and values.length:
                self.sample = _sample_text(values)

    def _add_kind(self, kind: Kind | None, location: RecordLocation) -> None:
        if kind is None:
            return
        if self.kind is None:
            self.kind, self.first = kind, location
        elif kind != self.kind:
            raise SchemaError(f"feature {self.key!r} is {self.kind} in {self.first}, but {kind} in {location}")

    def _add_bytes(self, value: bytes) -> None:
        self.sizes.add(len(value))
        seen = recognize(value)
        self.forms[seen.form] += 1
        if seen.form in ("jpeg", "png", "gif", "tensor"):
            self.dtypes.add(seen.dtype)
            self.ranks.add(len(seen.shape))
            if self.shape is None:
                self.shape = seen.shape
            self.shape = tuple(a if a == b else None for a, b in zip(self.shape, seen.shape, strict=False))


def _sample_text(values: Values) -> str:
    """Return the first values as a short text; of binary values, only the size."""
    if values.kind == "bytes":
        value: bytes = values.values[0]
        text = value[:60].decode("utf-8", "ignore") if recognize(value).form == "text" else None
        shown = f"{len(value):,} bytes" if text is None else repr(text)
        rest = len(values.values) > 1 or (text is not None and len(value) > 60)
    else:
        shown = ", ".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in values.values)
        rest = values.length > len(values.values)
    return shown + (", ..." if rest else "")
