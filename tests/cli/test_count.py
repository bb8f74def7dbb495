"""penstock count."""

from __future__ import annotations

import json
from pathlib import Path


def test_one_file_is_one_line(penstock):
    result = penstock("count", "good.tfrecord")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "10\tgood.tfrecord\n", "")


def test_several_files_have_a_total(penstock):
    result = penstock("count", "good.tfrecord", "*.gz")
    assert result.stdout == "10\tgood.tfrecord\n10\tgood.tfrecord.gz\n20\ttotal\n"


def test_a_directory_stands_for_its_files(penstock, folder: Path):
    (folder / "notes.txt").write_text("no records here")
    result = penstock("count", str(folder))
    assert result.stdout.endswith("20\ttotal\n")
    assert "notes" not in result.stdout


def test_damaged_and_missing_files_are_reported_and_the_rest_is_counted(penstock, damaged: str):
    result = penstock("count", "gone.tfrecord", damaged, "good.tfrecord")
    assert result.exit_code == 1
    assert result.stdout == "10\tgood.tfrecord\n10\ttotal\n"
    assert "gone.tfrecord: no such file" in result.stderr
    assert "damaged.tfrecord, record 9" in result.stderr


def test_json(penstock, damaged: str):
    result = penstock("count", "--json", "good.tfrecord", damaged)
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (document["records"], document["problems"]) == (10, 1)
    assert document["files"][0] == {"path": "good.tfrecord", "records": 10, "problem": None}
    assert document["files"][1]["records"] is None
    assert document["files"][1]["problem"]["kind"] == "truncated-record"


def test_a_name_like_another_is_suggested(penstock):
    assert "did you mean good.tfrecord?" in penstock("count", "god.tfrecord").stderr


def test_an_unfinished_file_is_found_under_its_temporary_name(penstock, folder: Path):
    (folder / ".train.tfrecord.0123abcd.partial").touch()
    assert ".train.tfrecord.0123abcd.partial" in penstock("count", "train.tfrecord").stderr


def test_a_pattern_without_a_file_says_so(penstock):
    result = penstock("count", "train-*.tfrecord")
    assert result.exit_code == 1
    assert "train-*.tfrecord: no file matches the pattern" in result.stderr


def test_compression_can_be_forced(penstock):
    result = penstock("count", "--compression", "none", "good.tfrecord.gz")
    assert result.exit_code == 1
    assert "this is GZIP data; leave out --compression" in result.stderr


def test_a_record_above_the_limit_names_the_option(penstock):
    result = penstock("count", "--max-record-bytes", "4", "good.tfrecord")
    assert result.exit_code == 1
    assert "give --max-record-bytes a larger number" in result.stderr


def test_file_names_cannot_write_to_the_terminal(penstock, folder: Path):
    (folder / "good.tfrecord").rename(folder / "\x1b[31mred.tfrecord")
    result = penstock("count", str(folder))
    assert "\x1b" not in result.stdout
    assert "\\x1b[31mred.tfrecord" in result.stdout
