"""Orders by keys: what sort(), unique() and split() have in common."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from flows import plain
from numbered import KINDS, SCHEMA, TOTAL, row_of

import penstock as ps

VERBS: dict[str, Any] = {
    "sort": lambda ds: ds.sort("text"),
    "unique": lambda ds: ds.unique("items"),
    "split by": lambda ds: ds.split({"a": 0.5, "b": 0.5}, by="text")["b"],
    "split at": lambda ds: ds.split({"a": 0.5, "b": 0.5}, seed=3)["a"],
}


def model(verb: str, rows: list[dict[str, Any]], ds: ps.Dataset) -> list[dict[str, Any]]:
    if verb == "sort":
        return sorted(rows, key=lambda row: row["text"])
    if verb == "unique":
        seen: list[Any] = []
        return [row for row in rows if row["items"] not in seen and not seen.append(row["items"])]
    chosen = {row["id"] for row in map(plain, ds.split({"a": 0.5, "b": 0.5}, by="text")["b"].epoch(0))}
    if verb == "split by":
        return [row for row in rows if row["id"] in chosen]
    order = ds.select(np.arange(len(rows)))
    chosen = {row["id"] for row in map(plain, order.split({"a": 0.5, "b": 0.5}, seed=3)["a"].epoch(0))}
    return [row for row in rows if row["id"] in chosen]


@pytest.mark.parametrize("kind", ["plain", "members"])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("earlier", [lambda ds: ds, lambda ds: ds.shuffle(seed=4)[2:21], lambda ds: ds.map(dict)])
def test_rows_by_keys_have_an_index_and_resume_at_every_step(kind, verb, earlier, shards):
    before = earlier(ps.Dataset(shards(kind), schema=SCHEMA))
    ds = VERBS[verb](before)
    expected = model(verb, [plain(row) for row in before.epoch(0)], before)
    assert len(ds) == len(expected) > 0
    assert [plain(ds[i]) for i in range(len(ds))] == expected
    with iter(ds.epoch(0)) as it:
        for step in range(len(expected) + 1):
            state = json.loads(json.dumps(it.state_dict()))
            with iter(pickle.loads(pickle.dumps(ds))) as resumed:
                resumed.load_state_dict(state)
                assert [plain(row) for row in resumed] == expected[step:]
            next(it, None)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("then", "now"), [(2, 3), (3, 1)])
def test_another_number_of_ranks_resumes(verb, then, now, shards):
    ds = VERBS[verb](ps.Dataset(shards("plain"), schema=SCHEMA))
    seen, rest = [], []
    for rank in range(then):
        it = iter(ds.shard(rank, then))
        seen.append(next(it)["id"])
        state = json.loads(json.dumps(it.state_dict()))
    for rank in range(now):
        it = iter(ds.shard(rank, now))
        it.load_state_dict(state)
        rest += [row["id"] for row in it]
    assert sorted(map(int, seen + rest)) == sorted(int(row["id"]) for row in ds)


@pytest.mark.parametrize("verb", VERBS)
def test_rows_that_were_filtered_are_arranged(verb, shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    chosen = ds.filter("id % 3 != 0").filter(lambda row: row["id"] > 4, columns=["id"])
    positions = [i for i in range(TOTAL) if i % 3 and i > 4]
    found = [plain(row) for row in VERBS[verb](chosen)]
    assert found == [plain(row) for row in VERBS[verb](ds.select(positions))]
    assert len(VERBS[verb](chosen)) == len(found)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "earlier", [lambda ds: ds.batch(2), lambda ds: ds.filter(bool), lambda ds: ds.zip(ds), lambda ds: ds.cache()]
)
def test_elements_without_an_index_are_an_error(verb, earlier, shards):
    with pytest.raises(TypeError, match="needs elements with an index"):
        VERBS[verb](earlier(ps.Dataset(shards("plain"), schema=SCHEMA)))


def test_a_state_of_another_order_is_refused(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    state = iter(ds.sort("text")).state_dict()
    for other in (ds, ds.sort("text", descending=True), ds.sort("id"), ds.unique("text")):
        with pytest.raises(ps.StateError, match="another pipeline"):
            iter(other).load_state_dict(state)


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_all_kinds_are_sorted(kind, shards):
    ds = ps.Dataset(shards(kind), schema=SCHEMA).sort("id")
    assert [row["id"] for row in ds] == list(range(TOTAL))


def test_files_without_random_access_say_what_to_do(tmp_path):
    file = tmp_path / "a.tfrecord.snappy"
    with ps.RecordWriter(file) as writer:
        writer.write_many(ps.Encoder(SCHEMA).encode([row_of(1), row_of(0)]))
    with pytest.raises(ps.NotSeekableError, match="penstock convert"):
        list(ps.Dataset(file, schema=SCHEMA).sort("id"))
