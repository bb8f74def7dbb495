"""write(memory=): records are copied in any order as they are stored, in parts that fit into memory."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.writing.destination import Destination
from penstock.writing.rewrite import rewrite

COUNT = 3000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rewrite") / "source"
    texts = ["x" * (number * 7919 % 1500) for number in range(COUNT)]
    keys = np.random.default_rng(1).integers(0, 700, COUNT)
    ps.write(path, {"id": np.arange(COUNT), "key": keys, "text": texts}, shards=3)
    return path


def records_of(path: Path) -> list[bytes]:
    return [record for file in sorted(path.parent.glob(f"{path.name}-*")) for record in ps.RecordReader(file)]


CHANGES = {
    "all": lambda ds: ds,
    "shuffle": lambda ds: ds.shuffle(seed=7).epoch(0),
    "sort": lambda ds: ds.sort("key"),
    "unique": lambda ds: ds.unique("key"),
    "split": lambda ds: ds.split({"a": 0.7, "b": 0.3}, by="id")["a"],
    "shard": lambda ds: ds.shard(1, 3),
    "slice": lambda ds: ds[2500:100:-3],
    "none": lambda ds: ds.take(0),
}


@pytest.mark.parametrize("memory", ["1GB", 1 << 20])
@pytest.mark.parametrize("name", CHANGES)
def test_records_are_copied_in_the_order_of_the_dataset(name: str, memory: int | str, source: Path, tmp_path: Path):
    stored = records_of(source)
    expected = [stored[int(row["id"])] for row in CHANGES[name](ps.Dataset(source))]
    manifest = ps.write(tmp_path / "copy", CHANGES[name](ps.Dataset(source)), shards=2, memory=memory)
    assert records_of(tmp_path / "copy") == expected
    assert [shard.records for shard in manifest.shards] == [len(expected) // 2, -(-len(expected) // 2)]
    assert manifest.verify(tmp_path) == []
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "options", [{"rows_per_shard": 700}, {"shard_bytes": "200KB"}, {"shards": 2, "compression": "GZIP"}, {}]
)
def test_shards_are_cut_as_without_a_limit(options: dict[str, object], source: Path, tmp_path: Path):
    limited = ps.write(tmp_path / "limited", ps.Dataset(source).sort("key"), memory="2MiB", **options)
    free = ps.write(tmp_path / "free", ps.Dataset(source).sort("key"), **options)
    assert [shard.records for shard in limited.shards] == [shard.records for shard in free.shards]
    assert records_of(tmp_path / "limited") == records_of(tmp_path / "free")
    assert limited.schema == free.schema


def test_compressed_files_of_others_are_copied(source: Path, tmp_path: Path):
    for file in source.parent.glob("source-*"):
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 1))
    ds = ps.Dataset(str(tmp_path / "source-*"), schema=ps.Dataset(source).schema)
    ps.write(tmp_path / "copy", ds.shuffle(seed=1), memory=1 << 20)
    assert sorted(records_of(tmp_path / "copy")) == sorted(records_of(source))


def test_what_cannot_be_copied_raises_before_anything_is_written(source: Path, tmp_path: Path):
    ds = ps.Dataset(source)
    for other in (ds.map(lambda row: row), ds.batch(4), ds.select_columns(["id"]), ds.filter("id > 4"), ds.repeat(2)):
        with pytest.raises((TypeError, ValueError), match="memory="):
            ps.write(tmp_path / "copy", other, memory="1GB")
    with pytest.raises(TypeError, match="takes a Dataset"):
        ps.write(tmp_path / "copy", {"x": [1]}, memory="1GB")
    with pytest.raises(ValueError, match="memory is a number of bytes"):
        ps.write(tmp_path / "copy", ds, memory="much")
    assert not list(tmp_path.iterdir())


def test_too_little_room_is_noticed_before_anything_is_written(source: Path, tmp_path: Path):
    stored = ps.Dataset(source).shuffle(seed=1)._stored_rows()
    huge = replace(stored, lengths=np.full(COUNT, 1 << 45, np.uint64))
    destination = Destination(tmp_path / "copy", compression="", level=2, replace=False, sync=False)
    with pytest.raises(OSError, match="are free: write to another disk"):
        rewrite(huge, destination, (1, None, None), memory=1 << 30, progress=False)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="writes to a local disk"):
        ps.write("memory://bucket/copy", ps.Dataset(source), memory="1GB")


def test_a_damaged_record_leaves_nothing(source: Path, tmp_path: Path):
    for file in source.parent.glob("source*"):
        shutil.copy(file, tmp_path / file.name)
    damaged = sorted(tmp_path.glob("source-*"))[1]
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    (tmp_path / "out").mkdir()
    with pytest.raises(ps.CorruptDataError):
        ps.write(tmp_path / "out" / "copy", ps.Dataset(tmp_path / "source").shuffle(seed=1), memory=1 << 20)
    assert not list((tmp_path / "out").iterdir())
