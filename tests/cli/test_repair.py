"""penstock repair."""

from __future__ import annotations

import json
from pathlib import Path

import penstock as ps


def test_good_records_are_saved_and_losses_listed(penstock, damaged: str):
    result = penstock("repair", damaged, "-o", "saved.tfrecord")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[1].split()[:3] == ["damaged.tfrecord", "3", "72"]
    assert "saved.tfrecord: 8 records saved" in lines
    assert lines[-1] == "8 good records, 43 bytes lost"
    good = list(ps.RecordReader("good.tfrecord"))
    assert list(ps.RecordReader("saved.tfrecord")) == good[:3] + good[4:9]


def test_a_dry_run_writes_nothing(penstock, damaged: str, folder: Path):
    before = sorted(folder.iterdir())
    result = penstock("repair", damaged, "--dry-run")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "8 good records, 43 bytes lost"
    assert sorted(folder.iterdir()) == before
    assert penstock("repair", "good.tfrecord", "--dry-run").exit_code == 0


def test_json(penstock, damaged: str):
    document = json.loads(penstock("repair", damaged, "-o", "saved.tfrecord", "--json").stdout)
    assert (document["records"], document["doubtful"], document["problems"]) == (8, 0, 2)
    assert [problem["stop"] for problem in document["files"][0]["problems"]] == [96, 235]


def test_a_folder_is_repaired_file_by_file(penstock, damaged: str):
    result = penstock("repair", ".", "-o", "saved")
    assert result.exit_code == 0
    assert sorted(path.name for path in Path("saved").iterdir()) == [
        "damaged.tfrecord",
        "good.tfrecord",
        "good.tfrecord.gz",
    ]
    assert "2 whole files copied\nsaved/damaged.tfrecord: 8 records saved\n" in result.stdout


def test_a_dataset_is_repaired_by_its_name(penstock, folder: Path):
    ps.write("data/train", {"x": range(100)}, shards=2)
    shard = folder / "data" / "train-00001-of-00002.tfrecord"
    shard.write_bytes(shard.read_bytes()[:-3])
    result = penstock("repair", "data/train", "-o", "saved")
    assert result.exit_code == 0
    assert [int(row["x"]) for row in ps.Dataset("saved/train")] == list(range(99))


def test_missing_shards_are_counted(penstock, folder: Path):
    ps.write("data/train", {"x": range(100)}, shards=4)
    (folder / "data" / "train-00002-of-00004.tfrecord").unlink()
    result = penstock("repair", "data", "-o", "saved")
    assert result.stdout.splitlines()[-1] == "75 good records of 100, 0 bytes lost, 1 file missing"
    assert "missing  the file does not exist" in result.stdout


def test_the_folder_of_the_new_file_is_made(penstock, damaged: str):
    assert penstock("repair", damaged, "-o", "new/folder/saved.tfrecord").exit_code == 0
    assert ps.RecordReader("new/folder/saved.tfrecord").count() == 8


def test_a_target_that_exists_names_the_option_that_replaces_it(penstock, damaged: str):
    result = penstock("repair", damaged, "-o", "good.tfrecord")
    assert "good.tfrecord exists: --replace replaces it." in result.stderr


def test_mistakes_have_a_status(penstock, damaged: str):
    assert penstock("repair", damaged).exit_code == 2
    assert penstock("repair", damaged, "-o", damaged).exit_code == 2
    assert penstock("repair", damaged, "-o", "good.tfrecord").exit_code == 2
    assert penstock("repair", damaged, "-o", "good.tfrecord", "--replace").exit_code == 0
    assert penstock("repair", "gone.tfrecord", "-o", "new.tfrecord").exit_code == 1


def test_a_file_of_which_nothing_can_be_saved_is_a_failure(penstock, folder: Path):
    (folder / "page.tfrecord").write_bytes(b"<html>not found</html>")
    result = penstock("repair", "page.tfrecord", "-o", "saved.tfrecord")
    assert result.exit_code == 1
    assert "saved.tfrecord: 0 records saved" in result.stdout
