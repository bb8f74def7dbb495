"""cache(): a complete epoch is stored, an interrupted one is not, and states fit both."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from numbered import SCHEMA, TOTAL, ids

import penstock as ps
from penstock.columns import Ragged
from penstock.dataset.block import Block
from penstock.dataset.order import RowKeys
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage
from penstock.dataset.transforms.batch import BatchStage
from penstock.dataset.transforms.cache import DiskCacheStage, MemoryCacheStage, cache_stage


@pytest.fixture(params=["memory", "disk"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return MemoryCacheStage() if request.param == "memory" else DiskCacheStage(str(tmp_path / "cache"), "name")


def fresh(stage: Stage) -> Stage:
    """The stage as another process has it."""
    return pickle.loads(pickle.dumps(stage))


def rows_after(stage: Stage, source: Source, epoch: int = 0) -> list[Any]:
    return elements_of(stage, source, {"epoch": epoch})


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("sizes", [[], [3], [2, 4, 1]])
def test_later_epochs_do_not_read_the_source(cache: Stage, sizes: list[int], as_list: bool):
    source = Source(sizes, as_list)
    assert rows_after(cache, source) == source.rows()
    asked = len(source.open_flows)
    assert rows_after(cache, source, 1) == source.rows(0)
    assert len(source.open_flows) == asked
    assert source.all_closed()


def test_keys_are_those_of_the_epoch_after_the_cache(cache: Stage):
    source = Source([2])
    for epoch in (0, 3):
        (block,) = blocks_of(cache, source, {"epoch": epoch})
        assert block.keys.epochs.tolist() == [epoch, epoch]
        assert block.keys.rows.tolist() == [0, 1]


def test_an_interrupted_epoch_is_not_cached(cache: Stage, tmp_path: Path):
    source = Source([1, 1, 1])
    with closing(blocks_of(cache, source)) as flow:
        next(flow)
    with pytest.raises(OSError, match="disk is gone"):
        elements_of(cache, Source([1, 1, 1], fails_after=2))
    assert list(tmp_path.glob("cache/*")) + list(tmp_path.glob("cache/.*")) == []
    assert rows_after(cache, source) == source.rows()


def test_resumes_before_and_after_it_is_complete(cache: Stage):
    source = Source([2, 1, 3])
    check_resumes(cache, source)
    states = [
        (block.start, len(source.rows()) - done)
        for block, done in zip(blocks_of(cache, source), [0, 2, 3], strict=True)
    ]
    for stage in (cache, fresh(cache)):
        for cursor, left in states:
            assert elements_of(stage, source, cursor) == source.rows()[-left:]
        check_resumes(stage, source)


def test_a_state_of_a_later_epoch_needs_no_cache():
    source = Source([2, 1, 3])
    cache = MemoryCacheStage()
    elements_of(cache, source)
    *_, last = blocks_of(cache, source, {"epoch": 4})
    resumed = list(blocks_of(fresh(cache), source, last.start))
    assert [plain(block.elements) for block in resumed] == [source.rows()[3:]]
    assert resumed[0].keys.epochs.tolist() == [4, 4, 4]


def test_a_place_that_the_cached_blocks_do_not_have_is_read(cache: Stage):
    elements_of(cache, Source([6]))
    place = {"epoch": 0, "block": 1, "up": {"epoch": 0, "row": 3}}
    assert elements_of(cache, Source([3, 3]), place) == Source([6]).rows()[3:]


def test_changes_by_the_consumer_are_not_cached(cache: Stage):
    source = Source([3])
    for epoch in (0, 1):
        for block in blocks_of(cache, source, {"epoch": epoch}):
            block.elements["n"][:] = -1
    assert rows_after(cache, source) == source.rows()


@pytest.mark.parametrize(
    ("element", "change"),
    [
        ({"x": np.zeros(2)}, lambda element: element["x"].__iadd__(1)),
        ({"x": [0, 0]}, lambda element: element["x"].append(1)),
        ((np.zeros(2), 0), lambda element: element[0].__iadd__(1)),
        ({"x": {"y": np.zeros(2)}}, lambda element: element["x"].pop("y")),
        (np.array([[1], None], object), lambda element: element[0].append(2)),
        (Ragged(np.zeros(2), [0, 2]), lambda element: element.values.__iadd__(1)),
        (bytearray(2), lambda element: element.append(1)),
    ],
)
def test_changes_by_the_consumer_to_any_element_are_not_cached(element: Any, change: Any):
    cache, stored = MemoryCacheStage(), deepcopy(plain(element))

    def upstream(cursor: object):
        yield Block(
            [deepcopy(element)], RowKeys(np.zeros(1, np.int64), np.zeros(1, np.int64)), {"epoch": 0}, {"end": 1}
        )

    for epoch in range(3):
        for block in blocks_of(cache, upstream, {"epoch": epoch}):
            assert plain(block.elements[0]) == stored
            change(block.elements[0])
            assert plain(block.elements[0]) != stored


def test_what_cannot_be_copied_is_cached_as_it_is():
    lock = threading.Lock()

    def upstream(cursor: object):
        yield Block([lock], RowKeys(np.zeros(1, np.int64), np.zeros(1, np.int64)), {"epoch": 0}, {"end": 1})

    cache = MemoryCacheStage()
    for epoch in range(2):
        assert [block.elements for block in blocks_of(cache, upstream, {"epoch": epoch})] == [[lock]]


def test_batches_are_cached_as_batches(cache: Stage):
    batched = BatchStage(2, pad=True)
    source = Source([3, 2])

    def upstream(cursor: object):
        return batched.open(source, cursor, Meter())

    first = [block.elements for block in blocks_of(cache, upstream)]
    second = [block.elements for block in blocks_of(cache, upstream)]
    assert repr(first) == repr(second)
    assert plain(first) == plain(second)
    assert second[0][0]["tokens"].shape == (2, 1)


@relaxed
@given(sources())
def test_any_flow_is_cached(source: Source):
    cache = MemoryCacheStage()
    assert elements_of(cache, source) == elements_of(cache, source) == source.rows()
    check_resumes(cache, source)


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
    with pytest.raises(ValueError, match="give its path too"):
        cache_stage(pipeline, None, "1")


def test_what_is_cached_is_computed_once_and_shuffled_again(shards):
    calls: list[int] = []

    def costly(row):
        calls.append(int(row["id"]))
        return row

    ds = ps.Dataset(shards("plain"), schema=SCHEMA).map(costly).cache().shuffle(seed=1)
    first, second = ids(ds), ids(ds)
    assert sorted(calls) == sorted(first) == sorted(second) == list(range(TOTAL))
    assert first != second


def test_a_cache_on_disk_is_found_again_and_never_stale(shards, tmp_path):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    folder = tmp_path / "stored"
    assert ids(ds.map(_tripled).cache(folder)) == [3 * number for number in range(TOTAL)]
    assert ids(ds.map(_tripled).cache(folder)) == [3 * number for number in range(TOTAL)]
    assert len(list(folder.iterdir())) == 1
    assert ids(ds[:4].map(_tripled).cache(folder)) == [0, 3, 6, 9]
    assert ids(ds.map(_quadrupled).cache(folder)) == [4 * number for number in range(TOTAL)]
    assert len(list(folder.iterdir())) == 3


def _tripled(row):
    return {"id": row["id"] * 3}


def _quadrupled(row):
    return {"id": row["id"] * 4}
