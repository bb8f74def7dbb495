"""A cache on disk is used again by the same pipeline over the same data, and by no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.dataset.transforms.cache import DiskCacheStage, MemoryCacheStage, cache_stage


def plus_one(element: dict[str, Any]) -> dict[str, Any]:
    return {"n": element["n"] + 1}


def plus_two(element: dict[str, Any]) -> dict[str, Any]:
    return {"n": element["n"] + 2}


def name(dataset: ps.Dataset, key: str | None = None) -> str:
    stage = cache_stage(dataset._pipeline, "somewhere", key)
    assert isinstance(stage, DiskCacheStage)
    return stage.fingerprint


def test_every_change_of_the_pipeline_is_another_cache(shards: Callable[[str], list[str]]):
    ds = ps.Dataset(shards("plain"))
    pipelines = [
        ds,
        ps.Dataset(shards("plain")[:1]),
        ds.shuffle(seed=1),
        ds.shuffle(seed=2),
        ds.take(3),
        *(ds.shard(rank, world) for world in (2, 3) for rank in range(world)),
        *(ds.shuffle(seed=1).shard(rank, 2).batch(2) for rank in range(2)),
        *(ds.batch(2).shard(rank, 2) for rank in range(2)),
        *(ds.concat(ds).shard(rank, 2) for rank in range(2)),
        ds.select_columns(list(ds.schema)[:1]),
        ds.map(plus_one),
        ds.map(plus_two),
        ds.map(plus_one, seed=1),
        ds.zip(ds.map(plus_one)),
        ds.zip(ds.map(plus_two)),
        ps.Dataset(shards("plain"), on_error="skip"),
    ]
    names = [name(dataset) for dataset in pipelines]
    assert len(set(names)) == len(names)
    assert names == [name(dataset) for dataset in pipelines]


def test_a_change_of_the_middle_of_a_file_is_another_cache(tmp_path: Path):
    path = tmp_path / "some.tfrecord"
    schema = ps.Schema({"x": ps.Feature("float32", (1000,))})
    x = np.zeros((100, 1000), np.float32)

    def cached() -> float:
        with ps.RecordWriter(path) as writer:
            writer.write_many(ps.Encoder(schema).encode({"x": x}))
        return sum(float(row["x"].sum()) for row in ps.Dataset(path, schema=schema).cache(tmp_path / "cache"))

    assert cached() == 0
    x[50, 500] = 1  # of 400 KB, 64 KB at both ends stay as they were
    assert cached() == 1


def test_what_changes_nothing_is_the_same_cache(shards: Callable[[str], list[str]]):
    ds = ps.Dataset(shards("plain"))
    assert name(ds) == name(ps.Dataset(shards("plain"), threads=3))
    assert name(ds.map(plus_one)) == name(ds.map(plus_one, workers=3))


def test_a_key_stands_for_the_functions(shards: Callable[[str], list[str]]):
    ds = ps.Dataset(shards("plain"))
    assert name(ds.map(plus_one), "1") == name(ds.map(plus_one), "1") != name(ds.map(plus_one), "2")


def test_without_a_path_it_is_in_memory(shards: Callable[[str], list[str]], tmp_path: Path):
    pipeline = ps.Dataset(shards("plain"))._pipeline
    assert isinstance(cache_stage(pipeline, None, None), MemoryCacheStage)
    with pytest.raises(ValueError, match="name its path too"):
        cache_stage(pipeline, None, "1")
