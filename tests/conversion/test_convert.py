"""ps.convert: records to other shards."""

from __future__ import annotations

import json
from pathlib import Path

import framing
import pytest
from schema_examples import example

import penstock as ps

LABELS = list(range(20))


@pytest.fixture
def train(folder: Path) -> str:
    ps.write("data/train", {"label": LABELS}, shards=2)
    return "data/train"


def test_records_are_written_to_other_shards(train):
    report = ps.convert(train, "data/new", shards=3, shuffle=7, output_compression="GZIP")
    assert (report.ok, str(report)) == (True, "data/new: 20 records")
    new, old = ps.Dataset("data/new"), ps.Dataset(train)
    assert new.schema == old.schema
    assert len(new.files) == 3
    assert new.files[0].endswith(".tfrecord.gz")
    labels = [row["label"] for row in new]
    assert labels != LABELS
    assert sorted(labels) == LABELS


def test_a_sample_is_a_part_of_a_shuffle(train):
    ps.convert(train, "a", shuffle=1, limit=5)
    ps.convert(train, "b", shuffle=1, skip=5)
    a, b = ([row["label"] for row in ps.Dataset(name)] for name in "ab")
    assert len(a) == 5
    assert sorted(a + b) == LABELS


@pytest.mark.parametrize("output", ["x.parquet", "data/new"])
def test_an_output_that_exists_is_replaced_on_request(train, output: str):
    ps.convert(train, output)
    with pytest.raises(FileExistsError):
        ps.convert(train, output)
    ps.convert(train, output, replace=True)


@pytest.mark.parametrize(
    ("paths", "output", "options", "message"),
    [
        ("data/train", "x.xlsx", {}, "unknown extension .xlsx: a table is .parquet"),
        ("data/train", "x", {"to": "xlsx"}, "to is one of tfrecord, parquet"),
        ("data/train", "s3://bucket/x.parquet", {}, "a local file"),
    ],
)
def test_arguments_that_contradict_each_other_raise(train, paths, output, options, message):
    with pytest.raises(ValueError, match=message):
        ps.convert(paths, output, **options)


def test_nothing_is_written_if_a_file_is_missing_or_damaged(train, folder: Path):
    before = sorted(path.name for path in folder.rglob("*"))
    with pytest.raises(FileNotFoundError, match=r"nothing\.tfrecord"):
        ps.convert([train, "nothing.tfrecord"], "data/new")
    shard = folder / "data" / "train-00001-of-00002.tfrecord"
    shard.write_bytes(framing.flip(shard.read_bytes(), 20))
    for output in ("data/new", "new.parquet"):
        with pytest.raises(ps.ChecksumError, match="record 0"):
            ps.convert(train, output)
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_damage_can_be_skipped_and_is_reported(train, folder: Path):
    shard = folder / "data" / "train-00001-of-00002.tfrecord"
    shard.write_bytes(framing.flip(shard.read_bytes(), 20))
    with pytest.warns(UserWarning, match="1 "):
        report = ps.convert(train, "data/new", on_error="skip")
    assert (report.ok, report.records) == (False, 19)
    assert [(problem.kind, problem.record) for problem in report.problems] == [("data-crc", 0)]
    assert json.loads(report.to_json())["records"] == 19


def test_a_stream_without_random_access_cannot_be_shuffled(folder: Path):
    with ps.RecordWriter(folder / "one.tfrecord.snappy") as writer:
        writer.write_many([example(a=1)] * 3)
    with pytest.raises(ps.NotSeekableError):
        ps.convert("one.tfrecord.snappy", "y", shuffle=1)


def test_a_folder_of_tfds_has_the_parts_of_a_split(tmp_path):
    ps.write(tmp_path / "train", {"x": list(range(40)), "name": [f"n{n}" for n in range(40)]}, shards=2)
    report = ps.convert(tmp_path / "train", tmp_path / "digits" / "1.0.0", to="tfds", split="80/20", shards=2)
    assert report.records == sum(report.parts.values()) == 40
    found = [ps.Dataset(tmp_path / "digits", split=name) for name in report.parts]
    assert [len(ds) for ds in found] == list(report.parts.values())
    assert sorted(int(row["x"]) for ds in found for row in ds) == list(range(40))
    again = ps.convert(tmp_path / "train", tmp_path / "digits" / "2.0.0", to="tfds")
    assert [row["name"] for row in ps.Dataset(tmp_path / "digits")] == [f"n{n}" for n in range(again.records)]
    with pytest.raises(FileExistsError):
        ps.convert(tmp_path / "train", tmp_path / "digits" / "2.0.0", to="tfds")
    with pytest.raises(ValueError, match="no sizes of shards or compression"):
        ps.convert(tmp_path / "train", tmp_path / "other", to="tfds", rows_per_shard=3)
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    ps.convert(tmp_path / "t.csv", tmp_path / "table", to="tfds")
    assert [row["b"] for row in ps.Dataset(tmp_path / "table")] == ["x", "y"]
