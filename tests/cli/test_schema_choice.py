"""Which schema the commands use: directories with several kinds of files, some of them bad, and datasets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from schema_examples import example, example_list, sequence_example

import penstock as ps


@pytest.fixture
def mixed(folder: Path, write_records) -> str:
    """A directory of two datasets, a damaged file, an HTML page, and a file whose payloads are not Examples."""
    (folder / "mixed").mkdir()
    for shard in range(2):
        write_records(f"mixed/images-{shard:05d}-of-00002.tfrecord", [example(label=i, name="bob") for i in range(3)])
    write_records("mixed/clips.tfrecord", [sequence_example({"id": i}, {"x": [[0.5]] * i}) for i in range(4)])
    write_records("mixed/lines.tfrecord", [b"a line"])
    data = bytearray((folder / "mixed/images-00000-of-00002.tfrecord").read_bytes())
    data[20] ^= 1
    (folder / "mixed/broken.tfrecord").write_bytes(data)
    (folder / "mixed/page.tfrecord").write_text("<!DOCTYPE html><html></html>")
    return "mixed"


def test_files_that_have_little_in_common_have_a_table_each(penstock, mixed):
    result = penstock("schema", mixed)
    titles = [line for line in result.stdout.splitlines() if line.startswith("mixed/")]
    assert titles == ["mixed/broken.tfrecord and 2 more files", "mixed/clips.tfrecord"]
    assert "SequenceExamples; inferred from all 4 records" in result.stdout
    assert "Examples; inferred from 8 sound records of 3 files" in result.stdout


def test_a_bad_file_is_reported_and_the_others_are_shown(penstock, mixed):
    result = penstock("schema", mixed)
    assert result.exit_code == 1
    reported = result.stderr.splitlines()
    assert [line.split(",")[0] for line in reported] == [
        "penstock: mixed/broken.tfrecord",
        "penstock: mixed/lines.tfrecord",
        "penstock: mixed/page.tfrecord",
    ]
    assert "penstock cat" in reported[1]
    assert "HTML" in reported[2]


def test_each_file_is_shown_by_a_schema_that_fits(penstock, mixed):
    result = penstock("head", mixed, "--limit", "100")
    assert result.stdout.count("  label  ") == 6
    assert result.stdout.count("  x   ") == 4
    assert "absent" not in result.stdout


def test_examples_before_the_damage_are_shown(penstock, write_records, folder: Path):
    write_records("x.tfrecord", [example(label=i) for i in range(3)])
    data = (folder / "x.tfrecord").read_bytes()
    (folder / "x.tfrecord").write_bytes(data[:-1])
    result = penstock("head", "x.tfrecord")
    assert result.exit_code == 1
    assert result.stdout.count("  label  ") == 2
    assert result.stderr.count("the file ends inside a record") == 1


def test_statistics_leave_out_files_that_cannot_be_read(penstock, mixed):
    result = penstock("stats", mixed)
    assert result.exit_code == 1
    assert "6 records in 2 files" in result.stdout


def test_files_that_have_little_in_common_are_summarized_separately(penstock, mixed):
    shown = penstock("stats", mixed).stdout
    titles = [line for line in shown.splitlines() if line.startswith("mixed/")]
    assert titles == ["mixed/clips.tfrecord", "mixed/images-00000-of-00002.tfrecord and 1 more file"]
    assert shown.index("4 records in 1 file") < shown.index("6 records in 2 files")


@pytest.mark.parametrize("name", ["data/train", "data/train.penstock.json"])
def test_a_dataset_goes_by_its_name_or_its_manifest(penstock, name: str):
    ps.write("data/train", {"label": [0, 1, 2, 3]}, shards=2)
    assert penstock("count", name).stdout.splitlines()[-1] == "4\ttotal"
    assert "declared" in penstock("schema", name).stdout
    assert penstock("head", name, "--limit", "9").stdout.count("label") == 4
    assert penstock("verify", name).exit_code == 0


def test_a_shard_that_is_missing_is_reported(penstock, folder: Path):
    ps.write("data/train", {"label": [0, 1, 2, 3]}, shards=2)
    (folder / "data/train-00001-of-00002.tfrecord").unlink()
    result = penstock("count", "data/train")
    assert result.exit_code == 1
    assert "data/train-00001-of-00002.tfrecord: no such file" in result.stderr


def test_schemas_of_several_datasets_are_used_if_they_agree(penstock):
    for name in ("train", "test"):
        ps.write(f"data/{name}", {"label": [0, 1]})
    assert "declared" in penstock("schema", "data").stdout


@pytest.mark.skipif(os.name == "nt", reason="links need a permission")
def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_read(penstock, folder: Path):
    (folder / "loop").symlink_to("loop")
    for command in ("count", "verify", "cat"):
        result = penstock(command, ".")
        assert result.exit_code == 1
        assert "loop: too many levels of symbolic links" in (result.stdout + result.stderr).lower()
        assert "20" in result.stdout if command != "cat" else "record 9" in result.stdout


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="everything is open to root")
def test_a_folder_without_permission_is_reported_and_the_rest_is_read(penstock, folder: Path):
    ps.write("data/train", {"label": [1, 2, 3]})
    (folder / "data/train-00000-of-00001.tfrecord").unlink()
    (folder / "data/closed").mkdir(mode=0)
    assert "closed: no permission to read it" in penstock("count", ".").stderr
    assert "20\ttotal" in penstock("count", ".").stdout
    assert "where a file is missing" in penstock("verify", ".").stdout


@pytest.mark.parametrize("command", ["schema", "head", "stats"])
def test_a_file_of_example_lists_is_reported(penstock, write_records, command: str):
    name = write_records("ranking.tfrecord", [example_list([example(a=1)], context=example(q="x"))] * 2)
    result = penstock(command, name)
    assert (result.exit_code, result.stdout.strip()) == (1, "")
    assert "record 0: the record is not an Example" in result.stderr
    assert "ExampleListWithContext" in result.stderr
