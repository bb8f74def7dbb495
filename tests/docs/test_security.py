"""What SECURITY.md says is held by a test."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.codec.tensor_proto import MAX_FILLED_BYTES
from penstock.records.reader import RecordReader

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text()


def test_every_promise_names_a_test_that_exists():
    rows = re.findall(r"^\| (?:\*\*)?an? .*", TEXT.partition("## Limits")[0], re.MULTILINE)
    assert len(rows) > 8
    for row in rows:
        held_by = re.findall(r"`([\w/]+\.(?:py|cc))`", row)
        assert held_by, row
        assert [name for name in held_by if not (ROOT / name).exists()] == []


def test_the_limits_are_those_of_the_code():
    assert RecordReader.__init__.__kwdefaults__["max_record_bytes"] == 1 << 30
    assert MAX_FILLED_BYTES == 64 << 20
