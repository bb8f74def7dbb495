"""Random pipelines against a model in plain Python: what comes out, and what comes out after a resume at any step."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numbered import KINDS, SCHEMA, TOTAL, row_of
from orders import dealt

import penstock as ps
from penstock import _core

Model = list[Any]
Step = tuple[str, Callable[[ps.Dataset], ps.Dataset], Callable[[Model], Model]]


def is_even(row: dict[str, Any]) -> bool:
    return bool(row["id"] % 2 == 0)


def doubled(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "id": row["id"] * 2}


def shuffled(model: Model, seed: int) -> Model:
    return [model[i] for i in _core.permute(np.arange(len(model)), len(model), seed=seed)]


def batched(model: Model, size: int, drop_last: bool) -> Model:
    batches = [model[start : start + size] for start in range(0, len(model), size)]
    return batches[:-1] if drop_last and batches and len(batches[-1]) < size else batches


def numbers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@st.composite
def steps(draw: st.DrawFn, *, rows: bool, indexed: bool) -> Step:
    """A method of the dataset, and what it does to a list."""
    kinds = ["take", "skip", "shard"]
    if rows:
        kinds += ["map", "filter"]
    if indexed:
        kinds += ["shuffle", "slice"]
    kind = draw(st.sampled_from(kinds))
    if kind == "take":
        n = draw(numbers(0, 30))
        return f"take({n})", lambda ds: ds.take(n), lambda model: model[:n]
    if kind == "skip":
        n = draw(numbers(0, 30))
        return f"skip({n})", lambda ds: ds.skip(n), lambda model: model[n:]
    if kind == "shard":
        world = draw(numbers(1, 4))
        rank = draw(numbers(0, world - 1))
        return f"shard({rank}, {world})", lambda ds: ds.shard(rank, world), lambda model: model[rank::world]
    if kind == "map":
        return "map", lambda ds: ds.map(doubled), lambda model: [doubled(row) for row in model]
    if kind == "filter":
        return "filter", lambda ds: ds.filter(is_even), lambda model: [row for row in model if is_even(row)]
    if kind == "shuffle":
        seed = draw(numbers(0, 5))
        return f"shuffle({seed})", lambda ds: ds.shuffle(seed=seed), lambda model: shuffled(model, seed)
    start, stop, step = draw(numbers(0, 10)), draw(numbers(0, 30)), draw(st.sampled_from([1, 2, -1]))
    if step < 0:
        start, stop = stop, start
    return f"[{start}:{stop}:{step}]", lambda ds: ds[start:stop:step], lambda model: model[start:stop:step]


@st.composite
def pipelines(draw: st.DrawFn) -> tuple[str, list[Step]]:
    chain: list[Step] = []
    indexed, rows = True, True
    for _ in range(draw(numbers(0, 4))):
        if rows and draw(st.integers(0, 3)) == 0:
            size, drop_last = draw(numbers(1, 9)), draw(st.booleans())
            chain.append(
                (
                    f"batch({size}, {drop_last})",
                    lambda ds, size=size, drop_last=drop_last: ds.batch(size, drop_last=drop_last),
                    lambda model, size=size, drop_last=drop_last: batched(model, size, drop_last),
                )
            )
            rows = False
            continue
        step = draw(steps(rows=rows, indexed=indexed))
        indexed = indexed and step[0] != "filter"
        chain.append(step)
    return ".".join(name for name, _, _ in chain), chain


def is_dealt_in_runs(names_before: list[str]) -> bool:
    """Whether shard() comes after nothing that changes which rows follow one another."""
    names = [name for name in names_before if name != "map"]
    while names and names[-1].startswith("shard"):
        names.pop()
    return all(re.match(r"take|skip|\[\d+:\d+:1]", name) for name in names)


def run_length(names_after: list[str], kind: str) -> int:
    """The rows that a rank takes at a time: a batch; without one, or in compressed files, more than there are here."""
    names = [name for name in names_after if name != "map" and not name.startswith("shard")]
    batch = re.match(r"batch\((\d+)", names[0]) if names else None
    return int(batch[1]) if batch and kind == "plain" else 1000


def plain(element: Any) -> Any:
    """An element as Python objects."""
    if isinstance(element, ps.Batch):
        return element.to_list()
    return {key: value.tolist() if hasattr(value, "tolist") else value for key, value in element.items()}


def run(ds: ps.Dataset) -> Model:
    with iter(ds.epoch(0)) as it:
        return [plain(element) for element in it]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pipeline=pipelines())
def test_a_pipeline_does_what_lists_do_and_goes_on_from_any_step(kind, pipeline, shards):
    ds, model = ps.Dataset(shards(kind), schema=SCHEMA), [row_of(number) for number in range(TOTAL)]
    names = [name for name, _, _ in pipeline[1]]
    for at, (name, change, change_model) in enumerate(pipeline[1]):
        ds = change(ds)
        if name.startswith("shard") and is_dealt_in_runs(names[:at]):
            rank, world = map(int, re.findall(r"\d+", name))
            model = dealt(model, rank, world, run_length(names[at + 1 :], kind))
        else:
            model = change_model(model)
    assert run(ds) == model
    if "filter" not in pipeline[0]:
        assert len(ds) == len(model)
        assert [plain(ds[i]) for i in range(len(model))] == model
    resumed_at_every_step(ds, model)


def resumed_at_every_step(ds: ps.Dataset, model: Model) -> None:
    with iter(ds.epoch(0)) as it:
        for step in range(len(model) + 1):
            state = json.loads(json.dumps(it.state_dict()))
            assert len(json.dumps(state)) < 2000
            other = pickle.loads(pickle.dumps(ds))
            with iter(other) as resumed:
                resumed.load_state_dict(state)
                assert [plain(element) for element in resumed] == model[step:]
            if step < len(model):
                next(it)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "change",
    [
        lambda ds: ds.repeat(2).batch(4),
        lambda ds: ds.batch(4).repeat(3),
        lambda ds: ds.shuffle(seed=1, window=8).repeat(2).batch(5, drop_last=True),
        lambda ds: ds.shuffle(seed=1, window=8).filter(is_even).repeat(2).batch(5),
        lambda ds: ds.interleave(2).shard(1, 3).batch(2),
        lambda ds: ds.map(doubled, workers=2).batch(4).prefetch(2),
        lambda ds: ds.filter(is_even).shuffle(seed=3, window=4).take(9),
        lambda ds: ds.bucket([2, 3], 3, key="items"),
        lambda ds: ds.cache().repeat(2).batch(4),
        lambda ds: ds.map(doubled).cache().shuffle(seed=1).repeat(2).batch(4),
        lambda ds: ds.batch(3).unbatch().skip(2),
        lambda ds: ds.filter(is_even).concat(ds.map(doubled)).batch(7),
        lambda ds: ds.mix(ds.map(doubled), weights=[2, 1], seed=3),
    ],
)
def test_iterations_are_resumed_at_every_step(kind, change, shards):
    ds = change(ps.Dataset(shards(kind), schema=SCHEMA))
    resumed_at_every_step(ds, run(ds))


def test_each_iteration_is_an_epoch_with_its_own_order(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=7)
    first, second = [[row["id"].item() for row in ds] for _ in range(2)]
    assert first != second
    assert sorted(first) == sorted(second) == list(range(TOTAL))
    assert [row["id"].item() for row in ds.epoch(1)] == second
    repeated = [row["id"].item() for row in ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=7).repeat(2)]
    assert repeated == first + second


@pytest.mark.parametrize("then", range(1, 8))
@pytest.mark.parametrize("now", range(1, 8))
def test_another_number_of_ranks_sees_every_record_that_is_left_once(then, now, shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=2)
    seen, steps = [], 2 if then < 5 else 1
    for rank in range(then):
        it = iter(ds.shard(rank, then).batch(2))
        seen += [value for _ in range(steps) for value in next(it)["id"].tolist()]
        state = json.loads(json.dumps(it.state_dict()))
    rest = []
    for rank in range(now):
        it = iter(ds.shard(rank, now).batch(2))
        it.load_state_dict(state)
        rest += [value for batch in it for value in batch["id"].tolist()]
    assert sorted(seen + rest) == list(range(TOTAL))


def test_reading_further_ahead_is_no_other_pipeline(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).batch(4)
    it = iter(ds)
    next(it)
    resumed = iter(ds.prefetch(2))
    resumed.load_state_dict(it.state_dict())
    assert [plain(batch) for batch in resumed] == [plain(batch) for batch in it]


@pytest.mark.parametrize(
    "change",
    [
        lambda ds, rank, world: ds.shard(rank, world).shuffle(seed=1).batch(2),
        lambda ds, rank, world: ds.shard(rank, world).filter(is_even).batch(2),
        lambda ds, rank, world: ds.shard(rank, world).repeat().batch(2),
    ],
)
def test_another_number_of_ranks_raises_where_the_seen_rows_are_unknown(change, shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    state = iter(change(ds, 0, 2)).state_dict()
    with pytest.raises(ps.StateError, match="2 ranks saved this state, 3 cannot resume it"):
        iter(change(ds, 0, 3)).load_state_dict(state)


def test_an_exact_shuffle_without_random_access_raises_with_the_way_out(tmp_path):
    with ps.RecordWriter(tmp_path / "a.tfrecord.snappy") as writer:
        writer.write_many(ps.Encoder(SCHEMA).encode([row_of(number) for number in range(TOTAL)]))
    ds = ps.Dataset(tmp_path / "a.tfrecord.snappy", schema=SCHEMA).shuffle(seed=1)
    with pytest.raises(ps.NotSeekableError, match=r"window=10_000.*penstock convert"):
        next(iter(ds))
