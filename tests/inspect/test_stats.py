"""ps.stats: the values of all records, in numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from schema_examples import example, sequence_example

import penstock as ps


def features(*paths: str, **options: Any) -> dict[str, dict[str, Any]]:
    report = ps.stats(paths, **options)
    assert report.ok, str(report)
    return json.loads(report.to_json())["features"]


def test_numbers_have_min_mean_and_max(write_records):
    write_records("x.tfrecord", [example(a=i, b=[0.5 * i, -1.0]) for i in range(101)])
    found = features("x.tfrecord")
    assert found["a"]["values"] == {"min": 0, "mean": 50, "max": 100}
    assert found["a"]["lengths"] == {"min": 1, "mean": 1, "max": 1}
    assert found["b"]["values"] == {"min": -1, "mean": 12, "max": 50}
    assert found["b"]["count"] == 202


def test_missing_is_counted_and_is_not_empty(write_records):
    write_records("x.tfrecord", [example(a=[1, 2]), example(a=[]), example(b=1)])
    found = features("x.tfrecord")
    assert (found["a"]["records"], found["a"]["missing"]) == (2, 1)
    assert found["a"]["lengths"] == {"min": 0, "mean": 1, "max": 2}


def test_bytes_have_sizes(write_records):
    write_records("x.tfrecord", [example(a="x" * n) for n in (2, 4, 30)])
    assert features("x.tfrecord")["a"]["sizes"] == {"min": 2, "mean": 12, "max": 30}


def test_values_that_are_not_finite_are_counted_separately(write_records):
    write_records("x.tfrecord", [example(a=[1.0, float("nan"), float("-inf")])])
    found = features("x.tfrecord")["a"]
    assert (found["count"], found["not_finite"]) == (3, 2)
    assert found["values"] == {"min": 1, "mean": 1, "max": 1}


def test_raw_arrays_have_values(write_records):
    write_records("x.tfrecord", [example(a=np.full((2, 3), n, np.float64).tobytes()) for n in (1, 2, 6)] + [example()])
    ps.Schema({"a": ps.Feature("float64", (2, 3), encoding="raw")}).save("x.schema.json")
    found = features("x.tfrecord")["a"]
    assert found["values"] == {"min": 1, "mean": 3, "max": 6}
    assert found["lengths"] == {"min": 6, "mean": 6, "max": 6}
    assert found["missing"] == 1


def test_sequences_have_steps(write_records):
    write_records("x.tfrecord", [sequence_example({"id": 1}, {"x": [[0.5, 1.5]] * n}) for n in (1, 3)])
    found = features("x.tfrecord")["x"]
    assert found["steps"] == {"min": 1, "mean": 2, "max": 3}
    assert found["lengths"] == {"min": 2, "mean": 4, "max": 6}


def test_the_largest_records_are_named_over_all_files(write_records):
    write_records("a.tfrecord", [example(a="x" * n) for n in (1, 500, 2)])
    write_records("b.tfrecord", [example(a="x" * n) for n in (900, 1)])
    report = ps.stats(["a.tfrecord", "b.tfrecord"])
    assert [(found.path, found.record) for found in report.largest[:2]] == [("b.tfrecord", 0), ("a.tfrecord", 1)]
    assert (report.files, report.records) == (2, 5)


def test_counts_that_differ_from_the_sample_are_accepted(write_records):
    write_records("x.tfrecord", [example(a=1)] * 5 + [example(a=[1, 2, 3]), example()])
    found = features("x.tfrecord", infer_records=3)["a"]
    assert (found["lengths"]["max"], found["missing"]) == (3, 1)


def test_a_report_reads_well(write_records):
    write_records("x.tfrecord", [example(label=i % 4, name="bob") for i in range(100)] + [example(label=0)])
    assert str(ps.stats("x.tfrecord")).splitlines() == [
        "101 records in 1 file, 3.5 kB",
        "label: int64, 0 to 3, mean 1.48515  ████",
        "name: bytes, 3 to 3 bytes, mean 3  █, missing in 1 record",
    ]


def test_problems_of_files_are_in_the_report(write_records, damaged: str):
    write_records("x.tfrecord", [example(a=1)] * 20 + [example(a="x")])
    report = ps.stats(["x.tfrecord", "gone.tfrecord"], infer_records=4)
    assert (report.ok, report.records, report.files) == (False, 20, 1)
    assert [(problem.path, problem.kind) for problem in report.problems] == [
        ("gone.tfrecord", "not-found"),
        ("x.tfrecord", "malformed-example"),
    ]
    assert [problem.path for problem in ps.stats(damaged).problems] == [damaged]


def test_a_schema_and_columns_can_be_chosen(write_records):
    write_records("x.tfrecord", [example(a=np.float64(3).tobytes(), b=1)])
    schema = ps.Schema({"a": ps.Feature("float64", encoding="raw"), "b": int})
    report = ps.stats("x.tfrecord", schema=schema, columns=["a"])
    assert list(report.features) == ["a"]
    assert report.features["a"].values.max == 3
    with pytest.raises(FileNotFoundError):
        ps.stats("x.tfrecord", schema="gone.json")
