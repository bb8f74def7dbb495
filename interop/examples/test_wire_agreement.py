"""Arbitrary bytes: the validating walk accepts, rejects and reads as protobuf, but for the listed exceptions."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest
from listed_exceptions import GROUP, KEY_NOT_TEXT, ODD_ENTRY, exceptions_met
from message_mutations import mutate, odd_message
from oracle import Oracle
from schema_examples import field

from penstock import _core

MESSAGES = 4_000
MUTATIONS = 5  # of each


def comparable(contents: Any) -> Any:
    """Contents with floats as their bits: NaN is unequal to itself."""
    if contents is None:
        return None
    context, lists = contents
    return (
        {key: _bits(feature) for key, feature in context.items()},
        {key: [_bits(step) for step in steps] for key, steps in lists.items()},
    )


def _bits(feature: tuple[str, list[Any]]) -> tuple[str, Any]:
    kind, values = feature
    return kind, struct.pack(f"<{len(values)}f", *values) if kind == "float" else values


def inputs(seed: int, *, sequence_example: bool) -> list[bytes]:
    random = Random(seed)
    messages = [odd_message(random, sequence_example=sequence_example) for _ in range(MESSAGES)]
    mutated = [mutate(random, message, random.choice(messages)) for message in messages for _ in range(MUTATIONS)]
    return messages + mutated


@pytest.mark.parametrize("sequence_example", [False, True])
def test_every_message_is_read_as_protobuf_reads_it(oracle: Oracle, sequence_example: bool) -> None:
    messages = inputs(1, sequence_example=sequence_example)
    theirs = oracle.read_messages(messages, sequence_example=sequence_example)
    agreed = {"read": 0, "refused": 0}
    for message, expected in zip(messages, theirs, strict=True):
        found = comparable(_core.read_example(message, sequence_example))
        if found == comparable(expected):
            agreed["refused" if found is None else "read"] += 1
            continue
        met = exceptions_met(message, sequence_example=sequence_example)
        assert met, f"{message.hex()}: found {found}, expected {expected}"
        # Each exception has a direction: a group is refused here, the other two are read here.
        assert found is not None or GROUP in met, message.hex()
    assert min(agreed.values()) > len(messages) / 10, agreed


ENTRY = field(1, b"k") + field(2, field(3, field(1, b"\x07")))


@pytest.mark.parametrize(
    ("message", "theirs", "ours", "exception"),
    [
        pytest.param(
            field(1, field(1, ENTRY)) + b"\x23\x24", {b"k": ("int64", [7])}, None, GROUP, id="a group is rejected"
        ),
        pytest.param(
            field(1, field(1, field(1, b"\xff") + field(2, b""))),
            None,
            {b"\xff": ("unset", [])},
            KEY_NOT_TEXT,
            id="a key that is not UTF-8 is read",
        ),
        pytest.param(
            field(1, field(1, ENTRY + b"\x20\x01")),
            {},
            {b"k": ("int64", [7])},
            ODD_ENTRY,
            id="an entry with an unknown field is kept",
        ),
    ],
)
def test_the_listed_exceptions_are_as_listed(
    oracle: Oracle, message: bytes, theirs: Any, ours: Any, exception: str
) -> None:
    (expected,) = oracle.read_messages([message], sequence_example=False)
    assert (expected and expected[0]) == theirs
    found = _core.read_example(message)
    assert (found and found[0]) == ours
    assert exceptions_met(message, sequence_example=False) == {exception}
