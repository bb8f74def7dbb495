import json
import multiprocessing
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from tfds_directories import write_directory

import penstock as ps
from penstock.errors import (
    CorruptDataError,
    ManifestError,
    MissingExtraError,
    NotSeekableError,
    RecordTooLargeError,
    SchemaError,
)

SPLITS = {"train": [8, 9, 8], "test": [2, 0, 5]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_directory(tmp_path / "toy" / "1.0.0", SPLITS, fileFormat="array_record")


def ids(ds) -> list[int]:
    return [int(row["id"]) for row in ds]


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("train", range(25)),
        ("all", range(32)),
        ("train[8:17]", range(8, 17)),
        ("train[10:12]+test[1:]+train[-1:]", [10, 11, *range(26, 32), 24]),
    ],
)
def test_a_split_is_its_rows(folder: Path, split: str, expected):
    ds = ps.Dataset(folder, split=split)
    assert len(ds) == len(expected)
    assert ids(ds) == [int(ds[n]["id"]) for n in range(len(ds))] == list(expected)
    assert np.concatenate([batch["id"] for batch in ds.batch(4)]).tolist() == list(expected)
    assert ds[[3, 0, 3]]["id"].tolist() == [expected[3], expected[0], expected[3]]
    assert sorted(ids(ds.shuffle(seed=3))) == sorted(expected)
    assert ids(ds.filter("id % 2 == 0")) == [row for row in expected if row % 2 == 0]
    assert ds.records([1]) == [ds.record(1)]


def test_orders_are_those_of_the_same_rows_in_tfrecord(folder: Path, tmp_path: Path):
    same = ps.Dataset(write_directory(tmp_path / "same", SPLITS), split="train").shuffle(seed=5)
    ds = ps.Dataset(folder, split="train").shuffle(seed=5)
    assert ids(ds.epoch(0)) == ids(same.epoch(0))
    assert ids(ds.epoch(1)) == ids(same.epoch(1))
    for rank in range(3):
        assert ids(ds.epoch(0).shard(rank, 3)) == ids(same.epoch(0).shard(rank, 3))
    joined = ps.Dataset(folder, split="train[:3]").concat(ps.Dataset(tmp_path / "same", split="test"))
    assert ids(joined) == [0, 1, 2, *range(25, 32)]


def test_iteration_resumes_everywhere(folder: Path):
    for ds in (ps.Dataset(folder, split="train[3:9]+test[:3]").shuffle(seed=5), ps.Dataset(folder, split="test")):
        expected = ids(ds.epoch(0))
        for seen in range(len(expected)):
            iterator = iter(ds.epoch(0))
            for _ in range(seen):
                next(iterator)
            resumed = iter(pickle.loads(pickle.dumps(ds)))
            resumed.load_state_dict(iterator.state_dict())
            assert [int(row["id"]) for row in resumed] == expected[seen:]


def test_rows_are_counted_without_reading_the_files(folder: Path):
    for shard in folder.glob("toy-*"):
        shard.write_bytes(b"")
    ds = ps.Dataset(folder, split="train")
    assert len(ds) == 25
    with pytest.raises(CorruptDataError, match=r"toy-train\.array_record-00000-of-00003: it has no footer"):
        next(iter(ds))


def test_a_wrong_count_raises(folder: Path):
    info = json.loads((folder / "dataset_info.json").read_text())
    info["splits"][0]["shardLengths"] = ["8", "9", "9"]
    (folder / "dataset_info.json").write_text(json.dumps(info))
    with pytest.raises(ManifestError, match="lists 9 records, the file has 8"):
        ids(ps.Dataset(folder, split="train"))


def test_damage_raises_at_its_record_or_is_skipped(folder: Path):
    shard = folder / "toy-train.array_record-00001-of-00003"
    data = bytearray(shard.read_bytes())
    at = data.rindex(b"id\x12")
    data[at] ^= 0xFF
    shard.write_bytes(data)
    ds = ps.Dataset(folder, split="train")
    iterator, seen = iter(ds), []
    with pytest.raises(CorruptDataError, match="ArrayRecord file is damaged") as caught:
        seen.extend(int(row["id"]) for row in iterator)
    assert (caught.value.path, 8 + caught.value.record, seen) == (str(shard), len(seen), list(range(len(seen))))
    skipped = ps.Dataset(folder, split="train", on_error="skip")
    with pytest.warns(UserWarning, match="1 record was skipped"):
        assert ids(skipped) == [n for n in range(25) if n != 8 + caught.value.record]


def test_a_record_above_the_limit_raises(folder: Path):
    with pytest.raises(RecordTooLargeError, match=r"max_record_bytes allows: .*-00000-of-00003, record 0"):
        ids(ps.Dataset(folder, split="train", max_record_bytes=4))


def test_a_missing_package_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "array_record", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'penstock\[array_record\]'"):
        ids(ps.Dataset(folder, split="train"))


def test_what_these_files_cannot_do_raises(folder: Path, tmp_path: Path):
    ds = ps.Dataset(folder, split="train")
    with pytest.raises(TypeError, match="leave memory= out"):
        ps.write(tmp_path / "copy", ds.shuffle(seed=1), memory="1 MB", progress=False)
    with pytest.raises(NotSeekableError, match=r"ps\.tfds\.write"):
        ps.rlds.open(folder, split="train")
    with pytest.raises(ManifestError, match="array_record and tfrecord"):
        ps.Dataset([folder, write_directory(tmp_path / "other", {"train": [1]})], split="train")
    (folder / "features.json").unlink()
    with pytest.raises(SchemaError, match="pass schema="):
        ps.Dataset(folder, split="train")


def test_copies_hold_the_same_records(folder: Path, tmp_path: Path):
    ds = ps.Dataset(folder, split="train")
    ps.write(tmp_path / "copy", ds, progress=False)
    written = ps.tfds.write(tmp_path / "toy2", {"train": ds}, progress=False)
    rows = list(range(25))
    for copy in (ps.Dataset(tmp_path / "copy"), ps.Dataset(written.path)):
        assert copy.records(rows) == ds.records(rows)


def _sum_of(ds) -> int:
    return sum(ids(ds))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the system has no fork()")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_reads_files_that_are_open(folder: Path):
    ds = ps.Dataset(folder, split="train")
    assert ds[20]["id"] == 20
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_sum_of, (ds,)).get(timeout=60) == sum(range(25))
