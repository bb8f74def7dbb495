"""Headers of documents: what this version cannot read is rejected with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.format_header import FormatHeader

HEADER = FormatHeader("recipe", "kitchen.recipe", 3, oldest=2, extensions=frozenset({"oven"}))
GOOD = {"format": "kitchen.recipe", "version": 3, "requires": []}


def test_a_new_header_can_be_read():
    assert HEADER.to_json() == GOOD
    assert HEADER.check(GOOD | {"unknown": 1}, ValueError)["unknown"] == 1


@pytest.mark.parametrize("document", [{"format": "kitchen.recipe", "version": 2}, GOOD | {"requires": ["oven"]}])
def test_older_versions_and_known_extensions_are_read(document: dict[str, Any]):
    assert HEADER.check(document, ValueError) is document


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, r'not a Penstock recipe: expected "format": "kitchen\.recipe"'),
        ([], "not a Penstock recipe"),
        (GOOD | {"format": "other"}, "not a Penstock recipe"),
        (GOOD | {"version": True}, 'the "version" of a recipe is a positive integer, not True'),
        (GOOD | {"version": 0}, "positive integer"),
        (GOOD | {"version": 4}, "has version 4; this Penstock reads up to version 3: update it"),
        (GOOD | {"version": 1}, "has version 1; this Penstock reads from version 2: write it again"),
        (GOOD | {"requires": None}, "an array in JSON"),
        (GOOD | {"requires": ["grill"]}, "requires 'grill', which this Penstock does not know"),
        (GOOD | {"requires": [["oven"]]}, "requires"),
    ],
)
def test_other_documents_are_rejected(document: Any, message: str):
    with pytest.raises(LookupError, match=message):
        HEADER.check(document, LookupError)
