"""Shards that several processes write apart become one dataset."""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import fsspec
import numpy as np
import pytest

import penstock as ps

SCHEMA = ps.Schema({"x": int, "name": str})
SHARDS = 3


def rows(shard: int) -> list[dict[str, object]]:
    return [{"x": x, "name": f"row {x}"} for x in range(shard, 20, SHARDS)]


def write_part(path: str, shard: int) -> ps.Manifest:
    return ps.write(path, rows(shard), schema=SCHEMA, shard=shard, shards=SHARDS)


def test_processes_write_one_dataset_together(tmp_path: Path):
    path = str(tmp_path / "train")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(write_part, [path] * (SHARDS - 1), range(SHARDS - 1)))
        with pytest.raises(FileNotFoundError):
            ps.Dataset(path)  # a part of the shards is no dataset
        parts.append(pool.submit(write_part, path, SHARDS - 1).result())
    manifest = ps.commit(path, reversed(parts))
    ds = ps.Dataset(path)
    assert sorted(int(row["x"]) for row in ds) == list(range(20))
    assert (ds.schema, manifest.records) == (SCHEMA, 20)
    assert ps.Manifest.load(path + ".penstock.json").verify(tmp_path) == []


def test_parts_are_those_of_a_dataset_that_one_process_writes(tmp_path: Path):
    columns = {"x": np.arange(9)}
    ps.write(tmp_path / "one" / "train", columns, shards=3)
    parts = [
        ps.write(tmp_path / "many" / "train", {"x": np.arange(3 * i, 3 * i + 3)}, shard=i, shards=3) for i in range(3)
    ]
    ps.commit(tmp_path / "many" / "train", parts)
    for name in os.listdir(tmp_path / "one"):
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_a_part_that_is_written_again_takes_the_place_of_the_first(tmp_path: Path):
    path = tmp_path / "train"
    with pytest.raises(RuntimeError), ps.Writer(path, schema=SCHEMA, shard=1, shards=2) as writer:
        writer.write({"x": 1, "name": "lost"})
        raise RuntimeError
    first = ps.write(path, rows(0), schema=SCHEMA, shard=0, shards=2)
    ps.write(path, rows(1), schema=SCHEMA, shard=1, shards=2)
    again = ps.write(path, rows(2), schema=SCHEMA, shard=1, shards=2)
    assert len(list(ps.commit(path, [first, again, first]).shards)) == 2
    assert [int(row["x"]) for row in ps.Dataset(path)] == [row["x"] for row in rows(0) + rows(2)]


def test_a_part_without_rows_is_a_shard_without_records(tmp_path: Path):
    parts = [
        ps.write(tmp_path / "a.b", iter(rows(0) * i), schema=SCHEMA, shard=i, shards=2, compression="GZIP")
        for i in range(2)
    ]
    assert [shard.records for shard in ps.commit(tmp_path / "a.b", parts).shards] == [0, 7]
    assert len(ps.Dataset(tmp_path / "a.b")) == 7


def test_what_makes_no_dataset_is_refused(tmp_path: Path):
    path = tmp_path / "train"
    parts = [write_part(str(path), shard) for shard in range(SHARDS)]
    with pytest.raises(ps.ManifestError, match="no parts"):
        ps.commit(path, [])
    with pytest.raises(ps.ManifestError, match="at least one shard; there is one without"):
        ps.commit(path, [*parts, ps.Manifest(SCHEMA, ())])
    with pytest.raises(
        ps.ManifestError, match=r"1 of 3 shards are missing, the first is train-00001-of-00003\.tfrecord"
    ):
        ps.commit(path, [parts[0], parts[2]])
    with pytest.raises(ps.ManifestError, match=r"train-00000-\S+ does not belong to the 3 shards of test"):
        ps.commit(tmp_path / "test", parts)
    other = ps.write(tmp_path / "other", {"x": [1]}, shard=0, shards=1)
    with pytest.raises(ps.SchemaError, match="different schemas: pass the same schema="):
        ps.commit(path, [*parts, other])
    stray = write_part(str(path), 0)
    ps.write(path, rows(0), schema=SCHEMA, shard=0, shards=5)  # of an earlier run, with more processes
    with pytest.raises(FileExistsError, match=r"no part of this dataset.*of-00005"):
        ps.commit(path, [stray, *parts[1:]])
    (tmp_path / "train-00000-of-00005.tfrecord").unlink()
    ps.write(path, rows(0)[1:], schema=SCHEMA, shard=0, shards=SHARDS)
    with pytest.raises(ps.ManifestError, match=r"train-00000-of-00003\.tfrecord has .* bytes, its writer told"):
        ps.commit(path, parts)
    assert not (tmp_path / "train.penstock.json").exists()


def test_a_whole_dataset_is_not_written_over_shard_by_shard(tmp_path: Path):
    ps.write(tmp_path / "train", rows(0), schema=SCHEMA)
    with pytest.raises(FileExistsError, match="remove it, or choose another name"):
        write_part(str(tmp_path / "train"), 0)
    with pytest.raises(ValueError, match="replace=True is for whole datasets"):
        ps.write(tmp_path / "new", rows(0), schema=SCHEMA, shard=0, shards=2, replace=True)
    with pytest.raises(ValueError, match=r"one of 0 \.\.\. 1, not 2"):
        ps.write(tmp_path / "new", rows(0), schema=SCHEMA, shard=2, shards=2)
    assert len(ps.Dataset(tmp_path / "train")) == 7


def test_what_is_no_part_is_refused_by_name(tmp_path):
    with pytest.raises(TypeError, match="answered, found str"):
        ps.commit(tmp_path / "train", ["train-00000-of-00001.tfrecord"])


def test_parts_on_a_store_without_folders():
    path = "memory://parts/train"
    try:
        ps.commit(path, [write_part(path, shard) for shard in range(SHARDS)])
        assert len(ps.Dataset(path)) == 20
    finally:
        fsspec.filesystem("memory").rm("/parts", recursive=True)


def test_a_name_that_promises_many_shards_costs_no_memory(tmp_path: Path):
    part = write_part(str(tmp_path / "train"), 0)
    shard = dataclasses.replace(part.shards[0], name="train-00000-of-999999999.tfrecord")
    with pytest.raises(ps.ManifestError, match=r"999999998 of 999999999 .* first is train-00001-of-999999999"):
        ps.commit(tmp_path / "train", [dataclasses.replace(part, shards=(shard,))])
