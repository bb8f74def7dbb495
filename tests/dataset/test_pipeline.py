"""Facts about a pipeline, which callers ask instead of taking it apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

STEPS: dict[str, Callable[[ps.Dataset], ps.Dataset]] = {
    "rows": lambda ds: ds,
    "batch": lambda ds: ds.shuffle(seed=1).batch(4, drop_last=True).take(2),
    "batch_of_batches": lambda ds: ds.batch(4).batch(2),
    "padded": lambda ds: ds.batch(4, pad=True),
    "bucket": lambda ds: ds.bucket([3], 2, key="tokens"),
    "unbatch": lambda ds: ds.batch(4).unbatch(),
    "filter": lambda ds: ds.filter(bool),
    "map": lambda ds: ds.map(dict),
    "shard": lambda ds: ds.shard(0, 4).shuffle(seed=1).batch(2),
    "shard_of_batches": lambda ds: ds.batch(2).shard(1, 3).repeat(),
    "shard_of_filtered": lambda ds: ds.filter(bool).shard(0, 2),
    "concat_of_shards": lambda ds: ds.concat(ds.shard(0, 2)),
    "zip": lambda ds: ds.zip(ds.batch(2)),
    "mix": lambda ds: ds.mix(ds.shard(0, 2).filter(bool), weights=[1, 1], seed=0),
    "cache": lambda ds: ds.cache().map(dict),
    "cache_then_filter": lambda ds: ds.cache().filter(bool),
}


@pytest.fixture
def facts(tmp_path: Path) -> Callable[[str], set[str]]:
    """Return which facts hold after some steps."""
    rows = [{"x": number, "tokens": np.arange(number % 5)} for number in range(20)]
    ps.write(tmp_path / "train", rows, shards=2)
    names = ("is_sharded", "yields_batches", "keeps_rows", "is_indexed", "is_in_memory", "is_remote")

    def holding(steps: str) -> set[str]:
        pipeline = STEPS[steps](ps.Dataset(tmp_path / "train"))._pipeline
        world = set() if pipeline.world in (None, 1) else {f"world={pipeline.world}"}
        return world | {name for name in names if getattr(pipeline, name)}

    return holding


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("rows", "keeps_rows is_indexed"),
        ("batch", "keeps_rows is_indexed yields_batches"),
        ("batch_of_batches", "keeps_rows yields_batches"),
        ("padded", "is_indexed yields_batches"),
        ("bucket", "keeps_rows yields_batches"),
        ("unbatch", "keeps_rows"),
        ("filter", "keeps_rows"),
        ("map", "is_indexed"),
        ("shard", "keeps_rows is_indexed is_sharded yields_batches world=4"),
        ("shard_of_batches", "keeps_rows is_indexed is_sharded yields_batches world=3"),
        ("shard_of_filtered", "keeps_rows is_sharded"),
        ("concat_of_shards", "keeps_rows is_indexed is_sharded"),
        ("zip", "is_indexed yields_batches world=[1,1]"),
        ("mix", "is_sharded world=[1,2]"),
        ("cache", "is_in_memory"),
        ("cache_then_filter", ""),
    ],
)
def test_facts(steps: str, expected: str, facts: Callable[[str], set[str]]):
    assert {fact.replace(" ", "") for fact in facts(steps)} == set(expected.split())


def test_a_remote_dataset_is_known_by_its_url(tmp_path: Path):
    import fsspec

    ps.write(tmp_path / "train", {"x": np.arange(3)})
    store = fsspec.filesystem("memory")
    (shard,) = tmp_path.glob("*.tfrecord")
    store.pipe("/facts/train.tfrecord", shard.read_bytes())
    ds = ps.Dataset("memory://facts/train.tfrecord", schema=ps.Schema({"x": ps.Feature("int64")}))
    assert ds._pipeline.is_remote
    assert ds.filter(bool).concat(ds)._pipeline.is_remote
