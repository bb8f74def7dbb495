"""Options for reading are checked once, and say what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.records.read_options import ReadOptions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compression": "gzip"}, "did you mean 'GZIP'"),
        ({"max_record_bytes": -1}, "max_record_bytes is an integer of 0 or more"),
        ({"threads": 0}, "threads is an integer of 1 or more"),
        ({"threads": True}, "threads"),
        ({"on_damage": "ignore"}, "on_error must be one of 'raise', 'tolerate_tail', 'skip'"),
        ({"trailing": "any"}, "trailing must be one of 'error', 'zeros', 'ignore'"),
        ({"index": "beside"}, "index must be one of 'cache', 'sidecar', 'none', not 'beside'"),
    ],
)
def test_other_values_raise(options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        ReadOptions(**options)


def test_only_one_policy_reads_on_after_any_damage():
    assert ReadOptions(on_damage="skip").skips_damage
    assert not ReadOptions(on_damage="skip_record").skips_damage
