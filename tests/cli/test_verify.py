"""penstock verify."""

from __future__ import annotations

import json
from pathlib import Path


def test_all_is_well_in_one_line(penstock):
    result = penstock("verify", ".")
    assert result.exit_code == 0
    assert result.stdout.startswith("ok: 2 files, 20 records, 480 B in ")
    assert result.stdout.count("\n") == 1


def test_every_damage_is_listed_with_its_place_and_what_to_do(penstock, damaged: str):
    result = penstock("verify", "good.tfrecord", damaged)
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0] == "damaged.tfrecord, record 3, byte 72: the payload's checksum does not match"
    assert lines[1] == "damaged.tfrecord, record 9, byte 216: the file ends inside a record"
    assert "penstock cat FILE --skip-damaged --format tfrecord > NEW" in lines[2]
    assert lines[-1].startswith("not ok: 2 problems in 1 of 2 files, 18 good records, ")


def test_json(penstock, damaged: str):
    result = penstock("verify", "--json", damaged)
    answer = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (answer["records"], answer["problems"]) == (8, 2)
    found = [(p["kind"], p["record"], p["offset"], p["stop"]) for p in answer["files"][0]["problems"]]
    assert found == [("data-crc", 3, 72, 96), ("truncated-record", 9, 216, 235)]


def test_a_missing_file_does_not_keep_the_others_from_being_checked(penstock):
    result = penstock("verify", "gone.tfrecord", "good.tfrecord")
    assert result.exit_code == 1
    assert "gone.tfrecord: no such file" in result.stdout
    assert "1 of 2 files, 10 good records" in result.stdout


def test_what_is_no_tfrecord_is_named(penstock, folder: Path):
    (folder / "page.tfrecord").write_text("<!doctype html><title>404</title>")
    (folder / "pointer.tfrecord").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\n")
    result = penstock("verify", "page.tfrecord", "pointer.tfrecord")
    assert result.exit_code == 1
    assert "an HTML or XML page" in result.stdout
    assert "git lfs pull" in result.stdout


def test_files_one_by_one_and_at_once_give_the_same_report(penstock, damaged: str):
    one = json.loads(penstock("verify", ".", "--json", "--jobs", "1").stdout)
    four = json.loads(penstock("verify", ".", "--json", "--jobs", "4").stdout)
    assert one == four


def test_a_truncated_gzip_file_is_damage(penstock, folder: Path):
    path = folder / "good.tfrecord.gz"
    path.write_bytes(path.read_bytes()[:-1])
    result = penstock("verify", "good.tfrecord.gz")
    assert result.exit_code == 1
    assert "the compressed stream is incomplete" in result.stdout
