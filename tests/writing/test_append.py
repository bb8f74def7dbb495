"""Shards are added to a dataset: readers see all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from manifest_reading import contents, values

import penstock as ps


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ps.write(tmp_path / "train", {"x": np.arange(10)}, shards=2)
    return tmp_path / "train"


def test_rows_follow_those_of_the_dataset(path: Path):
    before = contents(path.parent)
    old = ps.Manifest.load(f"{path}.penstock.json")
    manifest = ps.append(path, ({"x": x} for x in range(10, 15)), shards=2)
    manifest = ps.append(path, {"x": np.arange(15, 20)}, rows_per_shard=3)
    assert [shard.name for shard in manifest.shards[2:]] == [
        "train-00002-of-00004.tfrecord",
        "train-00003-of-00004.tfrecord",
        "train-00004-of-00006.tfrecord",
        "train-00005-of-00006.tfrecord",
    ]
    assert manifest.shards[:2] == old.shards
    assert {name: data for name, data in contents(path.parent).items() if name in before} == before | {
        "train.penstock.json": manifest.to_json().encode()
    }
    assert [int(row["x"]) for row in ps.Dataset(path)] == list(range(20))
    by_name = sorted(path.parent.glob("train-*"))
    assert [int(row["x"]) for row in ps.Dataset([str(file) for file in by_name])] == list(range(20))
    assert ps.Manifest.load(f"{path}.penstock.json") == manifest
    assert manifest.verify(path.parent) == []


def test_compression_and_schema_are_those_of_the_dataset(tmp_path: Path):
    schema = ps.Schema({"x": ps.Feature("float32")})
    ps.write(tmp_path / "train", {"x": [0.5]}, schema=schema, compression="GZIP")
    manifest = ps.append(tmp_path / "train", [{"x": 7}])
    assert [shard.name for shard in manifest.shards][1:] == ["train-00001-of-00002.tfrecord.gz"]
    assert values(tmp_path, manifest) == [0.5, 7.0]
    before = contents(tmp_path)
    with pytest.raises(ps.SchemaError, match="expected float32, found str"):
        ps.append(tmp_path / "train", [{"x": "text"}])
    assert contents(tmp_path) == before


def test_on_a_store_without_rename():
    ps.write("memory://append/train", {"x": np.arange(3)})
    manifest = ps.append("memory://append/train", iter([{"x": 3}, {"x": 4}]), rows_per_shard=1)
    assert values("memory://append", manifest) == list(range(5))
    assert manifest.verify("memory://append") == []


def failing() -> Iterator[dict[str, Any]]:
    yield from ({"x": x} for x in range(100))
    raise RuntimeError("the source is gone")


def test_after_a_failure_the_dataset_is_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch):
    before = contents(path.parent)
    with pytest.raises(RuntimeError, match="the source is gone"):
        ps.append(path, failing(), rows_per_shard=30)
    assert contents(path.parent) == before
    replace = os.replace

    def full(source: str, target: str) -> None:
        if target.endswith(".penstock.json"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        ps.append(path, {"x": np.arange(5)}, shards=2)
    assert contents(path.parent) == before


def test_a_dataset_that_changes_meanwhile_is_not_overwritten(path: Path):
    def rows() -> Iterator[dict[str, int]]:
        ps.append(path, {"x": np.arange(3)}, shards=3)
        yield {"x": 1}

    with pytest.raises(ps.ManifestError, match="another process changed the dataset meanwhile"):
        ps.append(path, rows())
    assert len(ps.Dataset(path)) == 13
    assert ps.Manifest.load(f"{path}.penstock.json").verify(path.parent) == []


def test_what_cannot_be_appended_to_raises(path: Path):
    with pytest.raises(FileNotFoundError):
        ps.append(path.parent / "other", {"x": [1]})
    (path.parent / "train-00007-of-00008.tfrecord").write_bytes(b"")
    with pytest.raises(FileExistsError, match="is not in the manifest; remove it"):
        ps.append(path, {"x": [1]})
