"""window(): batches of successive elements, as slices of a list."""

from __future__ import annotations

import pytest
from flows import Source, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA, TOTAL

import penstock as ps
from penstock.dataset.transforms.window import WindowStage


@relaxed
@given(sources(), st.integers(1, 6), st.integers(1, 8), st.booleans())
def test_windows_are_slices(source: Source, size: int, shift: int, drop_last: bool):
    stage, rows = WindowStage(size, shift, drop_last), source.rows()
    windows = [rows[start : start + size] for start in range(0, len(rows), shift)]
    expected = [window for window in windows if not drop_last or len(window) == size]
    assert elements_of(stage, source) == expected
    assert stage.length(len(rows)) == len(expected)
    check_resumes(stage, source)
    assert source.all_closed()


def test_windows_of_a_dataset(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).window(4)
    assert len(ds) == -(-TOTAL // 4)
    assert [batch["id"].tolist() for batch in ds.take(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert repr(ds).endswith("window(4, shift=4)>")
    assert [row["id"] for row in ds.unbatch()] == list(range(TOTAL))
    with pytest.raises(ValueError, match="shift is an integer of 1 or more"):
        ds.window(2, shift=0)
