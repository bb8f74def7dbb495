"""Saved states that do not fit raise StateError."""

from __future__ import annotations

import pytest
from numbered import SCHEMA

import penstock as ps


def test_a_state_that_does_not_fit_raises(shards, tmp_path):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    state = iter(ds.batch(4)).state_dict()
    for other, reason in [
        (ds.batch(5), "another pipeline"),
        (ds.shuffle(seed=1).batch(4), "another pipeline"),
        (ps.Dataset(shards("members"), schema=SCHEMA).batch(4), "other data"),
    ]:
        with pytest.raises(ps.StateError, match=reason):
            iter(other).load_state_dict(state)
    for broken in [None, {}, {**state, "version": 99}, {**state, "requires": ["x"]}, {**state, "cursor": 3}]:
        with pytest.raises(ps.StateError):
            iter(ds.batch(4)).load_state_dict(broken)


def test_a_state_of_version_1_goes_on_with_rows_that_ranks_took_one_by_one(shards):
    def ids(it):
        return [int(row["id"]) for row in it]

    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    share = ds.shard(1, 3)
    start = iter(share).state_dict() | {"version": 1, "cursor": {"epoch": 0}}
    with iter(share) as it:
        it.load_state_dict(start)
        assert ids(it) == list(range(1, 25, 3))
    after_two = start | {"cursor": {"epoch": 0, "position": 0, "origin": 0}, "given": 2}
    with iter(share) as it:
        it.load_state_dict(after_two)
        again = it.state_dict()
        assert ids(it) == list(range(7, 25, 3))
    with iter(share) as it:
        it.load_state_dict(again)
        assert ids(it) == list(range(7, 25, 3))
    of_workers = ds.shard(1, 2).shard(0, 2)
    with iter(of_workers) as it:
        it.load_state_dict(iter(of_workers).state_dict() | {"version": 1, "world": 4, "cursor": {"epoch": 0}})
        assert ids(it) == list(range(1, 25, 4))
