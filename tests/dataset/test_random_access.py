"""Elements and records by their positions."""

from __future__ import annotations

import numpy as np
import pytest
from numbered import KINDS, SCHEMA, TOTAL, ids, row_of

import penstock as ps


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_read_at_random(kind, shards):
    ds = ps.Dataset(shards(kind), schema=SCHEMA)
    assert len(ds) == TOTAL
    assert {**ds[9], "items": ds[9]["items"].tolist()} == row_of(9)
    assert ds[-1]["id"] == TOTAL - 1
    for wrong in (TOTAL, -TOTAL - 1):
        with pytest.raises(IndexError, match=f"element {wrong} of a dataset of {TOTAL}"):
            ds[wrong]


@pytest.mark.parametrize("kind", ["plain", "members"])
def test_many_examples_are_one_batch_in_the_order_asked_for(kind, shards):
    ds = ps.Dataset(shards(kind), schema=SCHEMA)
    chosen = [24, 0, 8, 8, 7, -1]
    batch = ds[chosen]
    assert batch.to_list() == [row_of(number % TOTAL) for number in chosen]
    mask = np.arange(TOTAL) % 5 == 0
    for same in (
        mask,
        mask.tolist(),
        range(0, TOTAL, 5),
        list(np.arange(0, TOTAL, 5)),
        np.flatnonzero(mask)[::-1][::-1],
    ):
        assert ds[same]["id"].tolist() == list(range(0, TOTAL, 5))
    assert ds[[]].num_rows == 0
    assert ids(ds.select(chosen)) == [number % TOTAL for number in chosen]
    for wrong in ([TOTAL], [0, -TOTAL - 1], [2**70], [0.5], [[1]], np.ones(3, bool)):
        with pytest.raises(IndexError):
            ds[wrong]


@pytest.mark.parametrize("kind", ["plain", "members"])
def test_records_are_there_as_they_are_stored(kind, shards):
    ds = ps.Dataset(shards(kind), schema=SCHEMA)
    stored = [record for file in shards(kind) for record in ps.RecordReader(file)]
    assert [ds.record(number) for number in range(TOTAL)] == stored
    assert ds.records([3, 3, -1, 0]) == [stored[3], stored[3], stored[-1], stored[0]]
    assert ds[::-1].record(0) == stored[-1]
    with pytest.raises(TypeError, match="before batch"):
        ds.batch(2).record(0)
