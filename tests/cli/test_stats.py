"""penstock stats."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example as hypothesis_example
from hypothesis import given
from hypothesis import strategies as st
from schema_examples import example, sequence_example

import penstock as ps
from penstock.cli.histogram import Histogram


def features(result) -> dict[str, dict]:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["features"]


def test_numbers_have_min_mean_and_max(penstock, write):
    write("x.tfrecord", [example(a=i, b=[0.5 * i, -1.0]) for i in range(101)])
    found = features(penstock("stats", "x.tfrecord", "--json"))
    assert found["a"]["values"] == {"min": 0, "mean": 50, "max": 100}
    assert found["a"]["lengths"] == {"min": 1, "mean": 1, "max": 1}
    assert found["b"]["values"] == {"min": -1, "mean": 12, "max": 50}
    assert found["b"]["count"] == 202


def test_missing_is_counted_and_is_not_empty(penstock, write):
    write("x.tfrecord", [example(a=[1, 2]), example(a=[]), example(b=1)])
    found = features(penstock("stats", "x.tfrecord", "--json"))
    assert (found["a"]["records"], found["a"]["missing"]) == (2, 1)
    assert found["a"]["lengths"] == {"min": 0, "mean": 1, "max": 2}


def test_of_bytes_the_sizes_are_summed_up(penstock, write):
    write("x.tfrecord", [example(a="x" * n) for n in (2, 4, 30)])
    assert features(penstock("stats", "x.tfrecord", "--json"))["a"]["sizes"] == {"min": 2, "mean": 12, "max": 30}


def test_values_that_are_not_finite_are_counted_apart(penstock, write):
    write("x.tfrecord", [example(a=[1.0, float("nan"), float("-inf")])])
    found = features(penstock("stats", "x.tfrecord", "--json"))["a"]
    assert (found["count"], found["not_finite"]) == (3, 2)
    assert found["values"] == {"min": 1, "mean": 1, "max": 1}
    assert "2 values not finite" in penstock("stats", "x.tfrecord").stdout


def test_raw_arrays_have_values(penstock, write):
    write("x.tfrecord", [example(a=np.full((2, 3), n, np.float64).tobytes()) for n in (1, 2, 6)] + [example()])
    ps.Schema({"a": ps.Feature("float64", (2, 3), encoding="raw")}).save("x.schema.json")
    found = features(penstock("stats", "x.tfrecord", "--json"))["a"]
    assert found["values"] == {"min": 1, "mean": 3, "max": 6}
    assert found["lengths"] == {"min": 6, "mean": 6, "max": 6}
    assert found["missing"] == 1


def test_sequences_have_steps(penstock, write):
    write("x.tfrecord", [sequence_example({"id": 1}, {"x": [[0.5, 1.5]] * n}) for n in (1, 3)])
    found = features(penstock("stats", "x.tfrecord", "--json"))["x"]
    assert found["steps"] == {"min": 1, "mean": 2, "max": 3}
    assert found["lengths"] == {"min": 2, "mean": 4, "max": 6}


def test_the_largest_records_are_named_over_all_files(penstock, write):
    write("a.tfrecord", [example(a="x" * n) for n in (1, 500, 2)])
    write("b.tfrecord", [example(a="x" * n) for n in (900, 1)])
    answer = json.loads(penstock("stats", "a.tfrecord", "b.tfrecord", "--json").stdout)
    assert [(entry["path"], entry["record"]) for entry in answer["largest"][:2]] == [
        ("b.tfrecord", 0),
        ("a.tfrecord", 1),
    ]
    assert answer["records"] == 5


def test_a_table_in_a_pipe(penstock, write):
    write("x.tfrecord", [example(label=i % 4, name="bob") for i in range(100)])
    lines = penstock("stats", "x.tfrecord").stdout.splitlines()
    assert lines[0].startswith("100 records in 1 file, ")
    assert lines[4].split() == ["label", "int64", "1", "0", "1.5", "3", "████"]
    assert lines[5].split() == ["name", "bytes", "1", *["3", "B"] * 3, "█"]
    assert lines[-5].startswith("largest: x.tfrecord, record 0: ")


def test_a_record_that_does_not_fit_ends_its_file_after_those_before_it(penstock, write):
    write("x.tfrecord", [example(a=1)] * 20 + [example(a="x")])
    write("y.tfrecord", [example(a=3)])
    result = penstock("stats", "x.tfrecord", "y.tfrecord", "--json", "--records", "4")
    answer = json.loads(result.stdout)
    assert result.exit_code == 1
    assert answer["records"] == 21
    assert answer["features"]["a"]["values"]["max"] == 3
    assert [problem["kind"] for problem in answer["problems"]] == ["malformed-example"]
    assert 'x.tfrecord, record 20: feature "a": expected int64, found bytes' in result.stderr


def test_counts_that_the_sample_did_not_show_are_no_error(penstock, write):
    write("x.tfrecord", [example(a=1)] * 5 + [example(a=[1, 2, 3]), example()])
    found = features(penstock("stats", "x.tfrecord", "--json", "--records", "3"))["a"]
    assert (found["lengths"]["max"], found["missing"]) == (3, 1)


def test_standard_input_is_described_and_summed_up(folder: Path, write):
    import subprocess

    write("x.tfrecord", [example(a=i) for i in range(3000)])
    command = [sys.executable, "-m", "penstock", "stats", "-", "--json"]
    with open("x.tfrecord", "rb") as source:
        result = subprocess.run(command, stdin=source, capture_output=True, timeout=60)
    assert json.loads(result.stdout)["features"]["a"]["count"] == 3000


def test_damage_is_reported(penstock, damaged: str):
    result = penstock("stats", damaged)
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr


@hypothesis_example([[2.2250738585072014e-308], [4.0]])
@given(st.lists(st.lists(st.floats(-1e300, 1e300), max_size=20), max_size=5))
def test_a_histogram_counts_every_value_in_its_bin(batches: list[list[float]]):
    histogram = Histogram(integers=False)
    for batch in batches:
        histogram.add(np.array(batch, np.float64))
    values = sorted(value for batch in batches for value in batch)
    found = histogram.as_json()
    if not values:
        assert found is None
        return
    assert found is not None
    assert sum(found["counts"]) == len(values)
    assert len(str(histogram)) <= 16
    stop = found["start"] + found["width"] * len(found["counts"])
    assert found["start"] <= values[0]
    assert values[-1] <= stop


@pytest.mark.parametrize(
    ("numbers", "bars"), [([0, 1, 2, 2], "▄▄█"), ([5], "█"), ([0, 0, 3], "█  ▄"), ([-1, 1], "█ █")]
)
def test_small_integers_have_a_bar_each(numbers: list[int], bars: str):
    histogram = Histogram(integers=True)
    histogram.add(np.array(numbers, np.float64))
    assert str(histogram) == bars
