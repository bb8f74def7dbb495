"""Pipelines of many stages over real files: what is left after a resume at every step, with nothing in memory."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numbered import SCHEMA

import penstock as ps
from penstock.columns import Column


def is_third(row: dict[str, Any]) -> bool:
    return bool(row["id"] % 3)


def noisy(row: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**row, "noise": rng.random()}


def noisy_batch(batch: ps.Batch, rng: np.random.Generator) -> ps.Batch:
    return batch | {"noise": rng.random(batch.num_rows)}


def many_items(row: dict[str, Any]) -> bool:
    return len(row["items"]) > 1


def as_tuple(row: dict[str, Any]) -> tuple[int, str]:
    return int(row["id"]), row["text"]


PIPELINES: dict[str, Callable[[ps.Dataset], ps.Dataset]] = {
    "map on threads": lambda ds: ds.shuffle(seed=3).map(noisy, seed=1, workers=2).batch(4).prefetch(2),
    "filter, batch, repeat": lambda ds: ds.shuffle(seed=1).filter(is_third).batch(4).repeat(3),
    "repeat without end": lambda ds: ds.filter(is_third).map(noisy, seed=2).repeat().batch(5).take(9),
    "random batches": lambda ds: ds.shuffle(seed=5).batch(4).map(noisy_batch, seed=1, workers=2),
    "buckets": lambda ds: ds.shuffle(seed=2).bucket([1, 3], [3, 2, 4], key="items", pad=True).repeat(2).prefetch(1),
    "window of a flow": lambda ds: ds.filter(is_third).shuffle(seed=4, window=7).batch(3),
    "unbatch": lambda ds: ds.batch(3).filter(has_odd_sum).unbatch().map(noisy, seed=3).skip(2),
    "concat of flows": lambda ds: ds.filter(is_third).concat(ds.filter(many_items)).map(noisy, seed=1).batch(3),
    "zip": lambda ds: ds.map(as_tuple).zip(ds.filter(is_third).map(as_tuple)),
    "mix": lambda ds: ds.shuffle(seed=1).mix(ds.filter(is_third), weights=[2, 1], seed=4, stop="all").batch(4),
    "mix without end": lambda ds: ds.take(3).mix(ds.filter(is_third), weights=[1, 1], seed=4, stop="never").take(30),
    "shards of a flow": lambda ds: ds.filter(is_third).shard(1, 3).repeat(2),
    "cache": lambda ds: ds.shuffle(seed=1).filter(is_third).cache().map(noisy, seed=1).repeat(3).batch(4),
}


def has_odd_sum(batch: ps.Batch) -> bool:
    return bool(np.asarray(batch["id"]).sum() % 2)


def plain(value: Any) -> Any:
    if isinstance(value, ps.Batch):
        return {name: plain(column) for name, column in value.items()}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, Column):
        return value.to_list()
    return value.tolist() if hasattr(value, "tolist") else value


def check(ds: ps.Dataset, steps: Callable[[int], range]) -> None:
    with iter(ds.epoch(0)) as it:
        states, elements = [it.state_dict()], []
        for element in it:
            elements.append(plain(element))
            states.append(it.state_dict())
    assert len(elements) > 4
    with iter(ds.epoch(0)) as again:
        assert [plain(element) for element in again] == elements
    for step in steps(len(states)):
        state = json.loads(json.dumps(states[step]))
        with iter(pickle.loads(pickle.dumps(ds))) as resumed:
            resumed.load_state_dict(state)
            assert [plain(element) for element in resumed] == elements[step:], step


@pytest.mark.parametrize("name", PIPELINES)
def test_the_rest_is_the_same_from_every_step(name: str, shards: Callable[[str], list[str]]):
    check(PIPELINES[name](ps.Dataset(shards("plain"), schema=SCHEMA)), range)


def test_with_processes(shards: Callable[[str], list[str]]):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=1)
    ds = ds.map(noisy, seed=1, workers=2, processes=True).batch(4)
    check(ds, lambda count: range(0, count, 4))


def test_with_a_cache_on_disk(shards: Callable[[str], list[str]], tmp_path: Path):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=1).map(noisy, seed=1).cache(tmp_path).batch(4)
    check(ds, range)
    assert len(list(tmp_path.iterdir())) == 1


def test_states_are_json_whatever_integers_the_pipeline_was_made_with(
    shards: Callable[[str], list[str]], tmp_path: Path
):
    two, ds = np.int64(2), ps.Dataset(shards("plain"), max_record_bytes=np.int64(1 << 20), threads=np.int8(1))
    pipelines = [
        ds.shuffle(seed=np.uint64(2)).take(two).skip(np.int8(1)).repeat(two).shard(np.int8(0), two).batch(two),
        ds.interleave(two).prefetch(two).epoch(two),
        ds.shuffle(seed=two, window=two).batch(two).repeat(two).unbatch(),
        ds.map(lambda row, rng: row, seed=two).bucket(np.array([2]), two, key=lambda row: 1),
        ds.filter(lambda row: True, seed=None).take(two).skip(two).shard(np.int8(0), two),
        ds.bucket(np.array([1, 3]), np.array([1, 2, 3]), key=lambda row: 1),
        ds.mix(ds, weights=np.ones(2), seed=two),
    ]
    for pipeline in pipelines:
        iterator = iter(pipeline)
        next(iterator, None)
        state = iterator.state_dict()
        assert json.loads(json.dumps(state)) == state
        assert isinstance(pipeline.cache(tmp_path, key="1"), ps.Dataset)


def test_an_error_in_a_function_leaves_a_state_in_front_of_it(shards: Callable[[str], list[str]]):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).map(fails_at_nine)
    with iter(ds) as it:
        assert [int(next(it)["id"]) for _ in range(9)] == list(range(9))
        with pytest.raises(ZeroDivisionError) as caught:
            next(it)
        state = it.state_dict()
    assert "row 9 in epoch 0" in caught.value.__notes__[0]
    with iter(ds) as resumed:
        resumed.load_state_dict(state)
        with pytest.raises(ZeroDivisionError):
            next(resumed)


def fails_at_nine(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "inverse": 1 // int(row["id"] - 9)}


PROGRAM = """
import json, multiprocessing, sys
import penstock as ps

def doubled(row):
    return {"x": 2 * row["x"]}

def begin(path):
    it = iter(ps.Dataset(path).map(doubled))
    next(it)
    return it.state_dict()

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        state = pool.apply(begin, sys.argv[1:])
    it = iter(ps.Dataset(sys.argv[1]).map(doubled))
    it.load_state_dict(state)
    print([int(row["x"]) for row in it])
"""


def test_a_script_resumes_what_a_process_that_it_spawned_has_begun(tmp_path: Path):
    ps.write(tmp_path / "train", {"x": np.arange(4)})
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    arguments = [sys.executable, str(program), str(tmp_path / "train")]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert result.stdout == "[2, 4, 6]\n", result.stderr
