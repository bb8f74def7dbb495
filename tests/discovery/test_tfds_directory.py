import json
from pathlib import Path

import numpy as np
import pytest
from tfds_directories import write_directory

import penstock as ps
from penstock.discovery.split_slices import even_splits
from penstock.discovery.tfds_directory import TfdsDirectory, find_tfds
from penstock.errors import ManifestError

SPLITS = {"train": [8, 9, 8], "test": [2, 0, 5]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_directory(tmp_path / "toy" / "1.0.0", SPLITS)


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("train", range(25)),
        ("test", range(25, 32)),
        ("all", range(32)),
        ("train[:50%]", range(12)),
        ("train[8:17]", range(8, 17)),
        ("train[10:12]+test[1:]+train[-1:]", [10, 11, *range(26, 32), 24]),
        ("test[2shard]", range(27, 32)),
        (even_splits("train", 3)[1], range(9, 17)),
    ],
)
def test_a_split_is_its_rows_in_order(folder: Path, split, expected):
    ds = ps.Dataset(folder, split=split)
    assert len(ds) == len(expected)
    assert [int(row["id"]) for row in ds] == list(expected)
    assert [int(ds[n]["id"]) for n in range(len(ds))] == list(expected)
    assert np.concatenate([batch["id"] for batch in ds.batch(4)]).tolist() == list(expected)
    assert sorted(int(row["id"]) for row in ds.shuffle(seed=3)) == sorted(expected)


def test_rows_are_counted_without_reading_the_files(folder: Path):
    for shard in folder.glob("toy-*"):
        shard.write_bytes(b"")
    assert len(ps.Dataset(folder, split="train[5:]+test")) == 27


def test_a_part_of_a_split_resumes(folder: Path):
    ds = ps.Dataset(folder, split="train[3:9]+test[:3]").shuffle(seed=5)
    expected = [int(row["id"]) for row in ds]
    for seen in range(len(expected)):
        iterator = iter(ds.epoch(0))
        for _ in range(seen):
            next(iterator)
        resumed = iter(ds)
        resumed.load_state_dict(iterator.state_dict())
        assert [int(row["id"]) for row in resumed] == expected[seen:]


def test_several_splits_need_a_name(folder: Path):
    with pytest.raises(ManifestError, match=r'splits \'train\', \'test\'.*split="all"'):
        ps.Dataset(folder)
    write_directory(folder, {"train": [3]})
    assert len(ps.Dataset(folder)) == 3


def test_a_split_without_rows_raises(folder: Path):
    with pytest.raises(ValueError, match="has no rows"):
        ps.Dataset(folder, split="train[3:3]")


@pytest.mark.parametrize(
    "template", ["{SPLIT}/data.{FILEFORMAT}-{SHARD_INDEX}", "{DATASET}_{SHARD_INDEX}_of_{NUM_SHARDS}_{SPLIT}"]
)
def test_shards_are_found_by_their_template(tmp_path: Path, template: str):
    write_directory(tmp_path, SPLITS, template)
    assert [int(row["id"]) for row in ps.Dataset(tmp_path, split="train[6:10]")] == [6, 7, 8, 9]


def test_the_newest_version_is_opened(folder: Path):
    write_directory(folder.parent / "1.9.0", {"train": [1]})
    write_directory(folder.parent / "1.10.0", {"train": [2]})
    assert len(ps.Dataset(folder.parent, split="train")) == 2
    assert find_tfds(str(folder.parent.parent)) == f"{folder.parent}/1.10.0/"
    assert len(ps.Dataset(folder.parent / "1.9.0")) == 1


def test_several_configs_need_a_choice_unless_one_is_the_default(folder: Path):
    dataset = folder.parent
    for config, rows in (("small", 1), ("large", 9)):
        write_directory(dataset / config / "1.0.0", {"train": [rows]}, configName=config)
    with pytest.raises(ManifestError, match=r"several datasets or configs.*\(\., large, small\)"):
        ps.Dataset(dataset, split="train")
    assert len(ps.Dataset(dataset / "large", split="train")) == 9
    (dataset / ".config").mkdir()
    (dataset / ".config" / "metadata.json").write_text('{"default_config_name": "small"}')
    assert len(ps.Dataset(dataset, split="train")) == 1


def test_folders_of_others_open_as_before(tmp_path: Path):
    ps.write(tmp_path / "train", {"id": [1, 2]})
    assert find_tfds(str(tmp_path)) is None
    assert len(ps.Dataset(tmp_path)) == 2
    with pytest.raises(ValueError, match="a folder that TFDS wrote"):
        (tmp_path / "train.penstock.json").unlink()
        ps.Dataset(tmp_path, split=even_splits("train", 2)[0])


def test_a_missing_shard_is_named(folder: Path):
    (folder / "toy-train.tfrecord-00001-of-00003").unlink()
    with pytest.raises(FileNotFoundError, match="1 of 3 shards are missing") as caught:
        ps.Dataset(folder, split="train")
    assert caught.value.filename.endswith("toy-train.tfrecord-00001-of-00003")
    assert len(ps.Dataset(folder, split="train[:5]")) == 5


@pytest.mark.parametrize("lengths", [["8", "9", "9"], ["8", "9", "7"]])
def test_a_wrong_count_raises_after_the_rows(folder: Path, lengths: list[str]):
    info = json.loads((folder / "dataset_info.json").read_text())
    info["splits"][0]["shardLengths"] = lengths
    (folder / "dataset_info.json").write_text(json.dumps(info))
    ds = ps.Dataset(folder, split="train")
    with pytest.raises(ManifestError, match="metadata lists"):
        list(ds)
    with pytest.raises(ManifestError, match="metadata lists"):
        list(ds.shuffle(seed=1))


def test_metadata_without_counts_reads_whole_splits(folder: Path):
    info = json.loads((folder / "dataset_info.json").read_text())
    for split in info["splits"]:
        split["numShards"] = str(len(split.pop("shardLengths")))
    (folder / "dataset_info.json").write_text(json.dumps(info))
    assert len(ps.Dataset(folder, split="train")) == 25
    with pytest.raises(ManifestError, match="no shard lengths"):
        ps.Dataset(folder, split="train[:5]")


def test_class_names_are_read(folder: Path):
    (folder / "label.labels.txt").write_text("cat\n dog \n\n")
    (folder / "objects-kind.labels.txt").write_text("a\nb\n")
    assert TfdsDirectory.load(folder).label_names() == {"label": ["cat", "dog"], "objects-kind": ["a", "b"]}


SPLIT = {"name": "train", "shardLengths": ["1"]}


@pytest.mark.parametrize(
    "info",
    [
        [],
        {"name": 3},
        {"splits": {}},
        {"splits": [3]},
        {"splits": [{}]},
        {"splits": [SPLIT, SPLIT]},
        {"splits": [SPLIT] * 10_001},
        {"splits": [SPLIT | {"name": "../x"}]},
        {"splits": [SPLIT | {"shardLengths": ["-1"]}]},
        {"splits": [SPLIT | {"shardLengths": ["9" * 30]}]},
        {"splits": [SPLIT | {"shardLengths": [str(1 << 47)] * 3}]},
        {"splits": [SPLIT | {"shardLengths": [True]}]},
        {"splits": [{"name": "train", "numShards": str(10**12)}]},
        {"splits": [{"name": f"s{n}", "numShards": 999_999} for n in range(99)]},
        {"splits": [SPLIT | {"filepathTemplate": "../{SPLIT}"}]},
        {"splits": [SPLIT | {"filepathTemplate": "/etc/{SPLIT}"}]},
        {"splits": [SPLIT | {"filepathTemplate": "C:{SPLIT}"}]},
        {"splits": [SPLIT | {"filepathTemplate": "{SPLIT.__class__}"}]},
        {"splits": [SPLIT | {"filepathTemplate": "{DATASET}"}], "name": ".."},
        {"splits": [SPLIT | {"filepathTemplate": "same", "shardLengths": ["1", "1"]}]},
        {"splits": [SPLIT], "fileFormat": "riegeli"},
    ],
)
def test_hostile_metadata_raises(tmp_path: Path, info):
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    with pytest.raises(ManifestError, match=r"dataset_info\.json"):
        ps.Dataset(tmp_path, split="train")


@pytest.mark.parametrize("text", [b"", b"\xff", b"[" * 100_000, b'{"name": ' + b"9" * 10_000 + b"}"])
def test_other_bytes_than_metadata_raise(tmp_path: Path, text: bytes):
    (tmp_path / "dataset_info.json").write_bytes(text)
    with pytest.raises(ManifestError, match=r"dataset_info\.json"):
        ps.Dataset(tmp_path)
