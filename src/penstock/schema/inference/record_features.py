"""Reads what an Example or a SequenceExample holds, without a schema."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, cast

from penstock import _core
from penstock.errors import MalformedExampleError
from penstock.schema.feature import Kind
from penstock.schema.inference.recognise import recognise_payload

Section: TypeAlias = Literal["context", "sequence"]

# Numbers are counted; so many of them are kept, to be shown.
SHOWN = 4


class Values(NamedTuple):
    """The list of one Feature: its kind (None where it is unset), its length, and values (of numbers, the first)."""

    kind: Kind | None
    length: int
    values: tuple[Any, ...]


class Found(NamedTuple):
    """One key of a record: in the context with one list, in the sequence with a list for each step."""

    section: Section
    key: str
    steps: tuple[Values, ...]


def read_features(payload: bytes) -> list[Found]:
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
        *(Found("context", _name(key), (_values(*feature),)) for key, feature in context.items()),
        *(Found("sequence", _name(key), tuple(_values(*step) for step in steps)) for key, steps in sequence.items()),
    ]


def _seems(payload: bytes) -> str:
    likely = recognise_payload(payload)
    return "" if likely is None else f"; it seems to be {likely}"


def _name(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def _values(kind: str, values: list[Any], length: int) -> Values:
    return Values(None if kind == "unset" else cast(Kind, kind), length, tuple(values))
