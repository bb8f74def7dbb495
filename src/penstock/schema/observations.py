"""Reads what an Example or a SequenceExample holds, without a schema."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from penstock import _core
from penstock.errors import MalformedExampleError, SchemaError
from penstock.schema.feature import Kind, Shape
from penstock.schema.recognize import Form, recognise_payload, recognize

Section: TypeAlias = Literal["context", "sequence"]
# Numbers are counted; so many of them are kept, to be shown.
SHOWN = 4


class Values(NamedTuple):
    """The list of one Feature: its kind (None where it is unset), its length, and values (of numbers, the first)."""

    kind: Kind | None
    length: int
    values: tuple[Any, ...]


class FoundFeature(NamedTuple):
    """One key of a record: in the context with one list, in the sequence with a list for each step."""

    section: Section
    key: str
    steps: tuple[Values, ...]


def read_features(payload: bytes) -> list[FoundFeature]:
    """Read the features of a serialized Example or SequenceExample; of equal keys, the last.

    Raise MalformedExampleError for malformed bytes, and for another message, which a parser that skips the fields it
    does not know takes for an Example without features.
    """
    # An Example is a SequenceExample without feature lists: the context has the number of its features.
    native = _core.sketch_example(payload, SHOWN)
    if native is None:
        raise MalformedExampleError(f"its bytes are malformed{_seems(payload)}")
    if _core.is_other_message(payload):
        way_out = "ps.RecordReader reads the payloads as they are, for the message's own class to parse"
        raise MalformedExampleError(f"it is a message without features{_seems(payload)}; {way_out}")
    context, sequence = native
    return [
        *(FoundFeature("context", _name(key), (_values(*feature),)) for key, feature in context.items()),
        *(
            FoundFeature("sequence", _name(key), tuple(_values(*step) for step in steps))
            for key, steps in sequence.items()
        ),
    ]


def _seems(payload: bytes) -> str:
    likely = recognise_payload(payload)
    return "" if likely is None else f"; it seems to be {likely}"


def _name(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def _values(kind: str, values: list[Any], length: int) -> Values:
    return Values(None if kind == "unset" else cast(Kind, kind), length, tuple(values))


@dataclass(frozen=True)
class Place:
    """Where a record stands."""

    path: str
    record: int

    def __str__(self) -> str:
        return f"{self.path}, record {self.record}"


@dataclass
class Span:
    """The least and the most of what was seen."""

    least: int | None = None
    most: int | None = None

    def add(self, number: int) -> None:
        """Widen the span to ``number``."""
        self.least = number if self.least is None else min(self.least, number)
        self.most = number if self.most is None else max(self.most, number)

    @property
    def constant(self) -> int | None:
        """The number, where there was only one."""
        return self.least if self.least == self.most else None

    def __str__(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


@dataclass
class Observations:
    """All that was seen of one key."""

    section: Section
    key: str
    present: int = 0
    kind: Kind | None = None
    first: Place | None = None
    counts: Span = field(default_factory=Span)
    steps: Span = field(default_factory=Span)
    sizes: Span = field(default_factory=Span)
    forms: Counter[Form] = field(default_factory=Counter)
    dtypes: set[str] = field(default_factory=set)
    shape: Shape | None = None
    ranks: set[int] = field(default_factory=set)
    sample: str = ""

    def add(self, found: FoundFeature, place: Place) -> None:
        """Take in what one record holds."""
        if self.section == "context" and found.steps[0].kind is None:
            return  # a feature that is unset is as good as absent
        self.present += 1
        self.steps.add(len(found.steps))
        for values in found.steps:
            self._add_kind(values.kind, place)
            self.counts.add(values.length)
            for value in values.values if values.kind == "bytes" else ():
                self._add_bytes(value)
            if not self.sample and values.length:
                self.sample = _show(values)

    def _add_kind(self, kind: Kind | None, place: Place) -> None:
        if kind is None:
            return
        if self.kind is None:
            self.kind, self.first = kind, place
        elif kind != self.kind:
            raise SchemaError(f"feature {self.key!r} is {self.kind} in {self.first}, but {kind} in {place}")

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


def _show(values: Values) -> str:
    """Return the first values as a short text; bytes that are no text are only counted."""
    if values.kind == "bytes":
        value: bytes = values.values[0]
        text = value[:60].decode("utf-8", "ignore") if recognize(value).form == "text" else None
        shown = f"{len(value):,} bytes" if text is None else repr(text)
        rest = len(values.values) > 1 or (text is not None and len(value) > 60)
    else:
        shown = ", ".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in values.values)
        rest = values.length > len(values.values)
    return shown + (", ..." if rest else "")
