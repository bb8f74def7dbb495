"""What a dataset is: described, counted, and read at random."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from numbered import COUNTS, SCHEMA, TOTAL, ids

import penstock as ps


def test_dense_columns_are_decoded_into_memory_that_the_caller_makes(shards):
    made = []

    def allocate(name, shape, dtype):
        made.append((name, np.empty(shape, dtype)))
        return made[-1][1]

    for kind in ("plain", "members"):
        made.clear()
        ds = ps.Dataset(shards(kind), schema=SCHEMA).with_allocator(allocate).shuffle(seed=2).batch(10)
        batches = list(ds)
        assert [name for name, _ in made] == ["id"] * 3
        if kind == "plain":
            assert all(np.shares_memory(batch["id"], memory) for batch, (_, memory) in zip(batches, made, strict=True))
        assert sorted(number for batch in batches for number in batch["id"].tolist()) == list(range(TOTAL))


def test_columns_are_chosen(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA, columns=["text", "id"])
    assert list(ds[3]) == ["text", "id"]
    assert list(ds.select_columns(["id"])[3]) == ["id"]
    assert list(ds.select_columns(["id"]).schema) == ["id"]
    with pytest.raises(ps.SchemaError, match="no feature 'nothing'"):
        ds.select_columns(["nothing"])
    with pytest.raises(ps.SchemaError):
        ds.select_columns(["items"])


def test_a_dataset_crosses_to_other_processes(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=3)
    assert ids(pickle.loads(pickle.dumps(ds))) == ids(ds.epoch(0))
    assert ids(pickle.loads(pickle.dumps(ds.epoch(5)))) == ids(ds.epoch(5))
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(iter(ds))


def test_bad_arguments_raise_at_once(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    for call in (
        lambda: ds.batch(0),
        lambda: ds.shard(2, 2),
        lambda: ds.shard(0, 0),
        lambda: ds.shuffle(seed=-1),
        lambda: ds.shuffle(seed=1 << 64),
        lambda: ds.mix(ds, weights=[1], seed=1),
        lambda: ds.mix(ds, weights=[1, 0], seed=1),
        lambda: ds.mix(ds, weights=[1, float("nan")], seed=1),
        lambda: ds.mix(ds, weights=[1, 1], seed=1, stop="last"),
        lambda: ds.cache("s3://bucket/cache"),
        lambda: ps.Dataset(shards("plain"), compression="gzip"),
        lambda: ps.Dataset(shards("plain"), threads=0),
        lambda: ps.Dataset(shards("plain"), index="nowhere"),
        lambda: ds.shuffle(seed=1, window=0),
        lambda: ds.take(-1),
        lambda: ds.repeat(-1),
        lambda: ds.shard(0, 2, remainder="some"),
        lambda: ds.shuffle(seed=1).interleave(),
    ):
        with pytest.raises(ValueError, match=r"is|has|must be|comes first|takes a rank"):
            call()


def test_what_has_no_length_says_so(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    for endless in (ds.repeat(), ds.filter(len)):
        with pytest.raises(TypeError, match="no length"):
            len(endless)
    with pytest.raises(TypeError, match="have no index"):
        ds.filter(len)[0]
    with pytest.raises(TypeError, match="needs elements with an index"):
        ds.filter(len).shuffle(seed=1)
    assert len(ds.batch(10)) == 3
    assert len(ds.batch(10, drop_last=True).repeat(4)) == 8


def test_datasets_are_joined_with_datasets(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    for call in (lambda: ds.concat([ds, ds]), lambda: ds.zip([ds]), lambda: ds.mix([ds], weights=[1, 1], seed=1)):
        with pytest.raises(TypeError, match=r"(concat|zip|mix)\(\) takes datasets, one argument each, not list"):
            call()


def test_counts_of_shards_are_those_of_the_files(shards):
    assert sum(COUNTS) == len(ps.Dataset(shards("members"), schema=SCHEMA))


def test_columns_are_a_list_of_names_that_are_there(written: Path):
    with pytest.raises(TypeError, match=r"\['id'\]"):
        ps.Dataset(written / "train", columns="id")
    with pytest.raises(ps.SchemaError, match="no feature 'it'"):
        ps.Dataset(written / "train", columns=["it"])


def test_column_names_are_those_that_are_decoded(written: Path):
    ds = ps.Dataset(written / "train")
    assert ds.column_names == list(SCHEMA)
    assert ds.select_columns(["id"]).map(dict).column_names == ["id"]
    with pytest.raises(TypeError, match="have a schema each"):
        _ = ds.zip(ds).column_names
