"""Datasets on remote stores."""

from __future__ import annotations

import uuid

import fsspec
import numpy as np
import pytest
from numbered import SCHEMA, TOTAL, write_shards

import penstock as ps


@pytest.fixture(params=["plain", "members", "stream"])
def remote(request, tmp_path) -> tuple[str, str]:
    """The kind of the files, and a folder in an in-memory object store."""
    folder = f"memory://{uuid.uuid4().hex}"
    store = fsspec.filesystem("memory")
    for file in write_shards(tmp_path, request.param):
        store.put_file(file, f"{folder}/{file.rpartition('/')[2]}")
    store.put_file(str(tmp_path / "data.schema.json"), f"{folder}/data.schema.json")
    return request.param, folder


def ids(ds: ps.Dataset) -> list[int]:
    return [int(row["id"]) for row in ds]


def test_a_remote_dataset_is_read_like_a_local_one(remote):
    _, folder = remote
    ds = ps.Dataset(f"{folder}/data-*.tfrecord")
    assert ds.schema == SCHEMA
    assert ids(ds) == list(range(TOTAL))
    assert len(ds) == TOTAL
    assert ds[-2]["id"] == TOTAL - 2
    assert sorted(ids(ds.shuffle(seed=3, window=6))) == list(range(TOTAL))
    assert sorted(ids(ds.shuffle(seed=3))) == list(range(TOTAL))


def test_nearby_rows_share_a_request(monkeypatch):
    folder = f"memory://{uuid.uuid4().hex}"
    ps.write(f"{folder}/train", {"x": np.arange(100), "data": [bytes(2000)] * 100})
    ds = ps.Dataset(f"{folder}/train")
    assert ds[7]["x"] == 7  # the index is there
    store, asked = fsspec.filesystem("memory"), []
    read = store.cat_file
    monkeypatch.setattr(type(store), "cat_file", lambda _, *where, **span: asked.append(span) or read(*where, **span))
    assert ds[[0, 2, 3, 9, 60, 99]]["x"].tolist() == [0, 2, 3, 9, 60, 99]
    assert len(asked) == 3  # what lies between 9, 60 and 99 is more than a request costs


def test_with_a_manifest_reading_a_row_opens_no_other_file(monkeypatch):
    folder = f"memory://{uuid.uuid4().hex}"
    ps.write(f"{folder}/train", {"x": np.arange(100)}, shards=5)
    ds = ps.Dataset(f"{folder}/train")
    store, asked = fsspec.filesystem("memory"), set()
    read = store.cat_file
    monkeypatch.setattr(type(store), "cat_file", lambda _, path, **span: asked.add(path) or read(path, **span))
    assert ds[-1]["x"] == 99
    assert ds.record(99) == ds.records([99])[0]
    assert [path.rpartition("/")[2] for path in asked] == ["train-00004-of-00005.tfrecord"]


def test_a_remote_dataset_resumes(remote):
    _, folder = remote
    ds = ps.Dataset(folder, schema=SCHEMA).batch(4)
    whole = [batch["id"].tolist() for batch in ds]
    it = iter(ds)
    next(it), next(it)
    resumed = iter(ps.Dataset(folder, schema=SCHEMA).batch(4))
    resumed.load_state_dict(it.state_dict())
    it.close()
    assert [batch["id"].tolist() for batch in resumed] == whole[2:]


def test_a_manifest_on_a_remote_store_names_its_shards(tmp_path):
    folder = f"memory://{uuid.uuid4().hex}"
    ps.write(f"{folder}/train", [{"x": number} for number in range(10)], shards=2)
    for name in (folder, f"{folder}/train", f"{folder}/train.penstock.json"):
        assert [int(row["x"]) for row in ps.Dataset(name)] == list(range(10))
