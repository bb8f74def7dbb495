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
