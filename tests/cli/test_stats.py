"""penstock stats."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from schema_examples import example


def test_a_table_in_a_pipe(penstock, write_records):
    write_records("x.tfrecord", [example(label=i % 4, name="bob") for i in range(100)])
    lines = penstock("stats", "x.tfrecord").stdout.splitlines()
    assert lines[0].startswith("100 records in 1 file, ")
    assert lines[4].split()[:7] == ["label", "int64", "1", "0", "1.5", "3", "████"]
    assert lines[5].split()[:9] == ["name", "bytes", "1", *["3", "B"] * 3]
    assert lines[4].endswith("4 distinct: 0 (25), 1 (25), 2 (25), ...")
    assert lines[5].endswith("1 distinct: bob (100)")
    assert lines[-5].startswith("largest: x.tfrecord, record 0: ")


def test_a_record_that_does_not_fit_ends_its_file_after_those_before_it(penstock, write_records):
    write_records("x.tfrecord", [example(a=1)] * 20 + [example(a="x")])
    write_records("y.tfrecord", [example(a=3)])
    result = penstock("stats", "x.tfrecord", "y.tfrecord", "--json", "--infer-records", "4")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert document["records"] == 21
    assert document["features"]["a"]["values"]["max"] == 3
    assert [problem["kind"] for problem in document["problems"]] == ["malformed-example"]
    assert 'x.tfrecord, record 20: feature "a": expected int64, found bytes' in result.stderr


def test_standard_input_is_read_once(folder: Path, write_records):
    import subprocess

    write_records("x.tfrecord", [example(a=i) for i in range(3000)])
    command = [sys.executable, "-m", "penstock", "stats", "-", "--json"]
    with open("x.tfrecord", "rb") as source:
        result = subprocess.run(command, stdin=source, capture_output=True, timeout=60)
    assert json.loads(result.stdout)["features"]["a"]["count"] == 3000


def test_damage_is_reported(penstock, damaged: str):
    result = penstock("stats", damaged)
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr


def test_values_that_are_not_finite_are_noted(penstock, write_records):
    write_records("x.tfrecord", [example(a=[1.0, float("nan"), float("-inf")])])
    assert "2 values not finite" in penstock("stats", "x.tfrecord").stdout


def test_the_old_name_of_an_option_fails_with_the_new_one(penstock, write_records):
    write_records("x.tfrecord", [example(a=1)])
    result = penstock("stats", "x.tfrecord", "--records", "all")
    assert result.exit_code == 2
    assert "--records is now --infer-records." in result.stderr


def test_a_missing_file_is_reported(penstock):
    result = penstock("stats", "gone.tfrecord")
    assert result.exit_code == 1
    assert "gone.tfrecord: no such file" in result.stderr
