"""ps.count: how many records files hold."""

from __future__ import annotations

import json

import penstock as ps


def test_all_paths_are_counted(folder):
    report = ps.count([folder / "good.tfrecord", "*.gz"])
    assert report.ok
    assert [(file.path, file.records) for file in report.files] == [
        (str(folder / "good.tfrecord"), 10),
        ("good.tfrecord.gz", 10),
    ]
    assert str(report) == "20 records in 2 files"


def test_a_dataset_goes_by_its_name(folder):
    ps.write("data/train", {"x": range(30)}, shards=3)
    assert ps.count("data/train").records == ps.count("data/train.penstock.json").records == 30
    assert len(ps.count("data").files) == 3


def test_damaged_and_missing_files_are_problems_and_not_counted(damaged: str):
    report = ps.count(["gone.tfrecord", damaged, "good.tfrecord"])
    assert (report.ok, report.records) == (False, 10)
    assert [problem.kind for problem in report.problems] == ["not-found", "truncated-record"]
    assert isinstance(report.problems[1].error, ps.TruncatedError)
    assert [file.records for file in report.files] == [None, None, 10]
    assert str(report).endswith("\n10 records in 1 file")


def test_json_has_the_keys_of_the_command(folder, penstock):
    found = json.loads(ps.count("good.tfrecord").to_json())
    assert found == json.loads(penstock("count", "good.tfrecord", "--json").stdout)
    assert found == {
        "files": [{"path": "good.tfrecord", "records": 10, "problem": None}],
        "records": 10,
        "problems": 0,
    }
