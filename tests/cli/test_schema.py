"""penstock schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from schema_examples import example, sequence_example

import penstock as ps


def rows(text: str) -> list[list[str]]:
    """The cells of a table in a pipe, without its head and what follows the table."""
    return [re.split(" {2,}", line) for line in text.splitlines()[1:] if "  " in line]


def test_a_table_has_a_row_for_each_feature(penstock, write_records):
    write_records("x.tfrecord", [example(label=i, tokens=[7] * (i % 3), name="bob") for i in range(200)])
    result = penstock("schema", "x.tfrecord")
    assert result.exit_code == 0
    assert rows(result.stdout) == [
        ["label", "int64", "()", "list", "always", "certain", "0"],
        ["tokens", "int64", "(?)", "list", "always", "certain", "7"],
        ["name", "str", "()", "list", "always", "likely", "'bob'"],
    ]
    assert result.stdout.splitlines()[-1] == "Examples; inferred from all 200 records"


def test_what_some_records_lack_is_a_percentage(penstock, write_records):
    write_records("x.tfrecord", [example(a=1, b=2), example(a=1), example(a=1), example(a=1)])
    assert [row[4] for row in rows(penstock("schema", "x.tfrecord").stdout)] == ["always", "25 %"]


def test_the_number_of_records_to_infer_from_can_be_chosen(penstock, write_records):
    write_records("x.tfrecord", [example(a=1)] * 20 + [example(a=[1, 2])])
    few = penstock("schema", "x.tfrecord", "--infer-records", "20")
    assert "inferred from the first 20 records" in few.stdout
    assert rows(few.stdout)[0][2] == "()"
    assert rows(penstock("schema", "x.tfrecord", "--infer-records", "all").stdout)[0][2] == "(?)"


def test_a_guess_that_is_not_made_is_a_note(penstock, write_records):
    write_records("x.tfrecord", [example(x=b"\xff" * 784)] * 10)
    assert 'x: always 784 bytes: perhaps encoding="raw"' in penstock("schema", "x.tfrecord").stdout


def test_sequences_have_steps(penstock, write_records):
    write_records("x.tfrecord", [sequence_example({"id": 1}, {"x": [[0.5, 1.5]] * 3})])
    result = penstock("schema", "x.tfrecord")
    assert "(steps, 2)" in result.stdout
    assert "SequenceExamples" in result.stdout


def test_json_is_a_schema_file(penstock, write_records, folder: Path):
    write_records("x.tfrecord", [example(a=1, b="x")])
    (folder / "x.schema.json").write_text(penstock("schema", "x.tfrecord", "--format", "json").stdout)
    assert ps.Schema.load("x.schema.json") == ps.infer_schema("x.tfrecord").schema


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("tf", "'a': tf.io.FixedLenFeature([], tf.int64)"),
        ("pbtxt", 'name: "a"'),
        ("arrow", "a: int64 not null"),
        ("tfds", '"pythonClassName"'),
    ],
)
def test_formats_of_other_tools(penstock, write_records, form: str, words: str):
    write_records("x.tfrecord", [example(a=1)])
    result = penstock("schema", "x.tfrecord", "--format", form)
    assert result.exit_code == 0
    assert words in result.stdout


def test_a_schema_file_next_to_the_shards_is_used(penstock, write_records):
    for shard in range(2):
        write_records(f"x-{shard:05}-of-00002.tfrecord", [example(image=bytes(6), new=1)])
    ps.Schema({"image": ps.Feature("uint8", (2, 3), encoding="raw")}).save("x.schema.json")
    declared = penstock("schema", "x-*.tfrecord")
    assert rows(declared.stdout)[0] == ["image", "uint8", "(2, 3)", "raw", "always", "declared", "6 bytes"]
    assert "new: int64, not in the schema" in declared.stdout
    assert "read from x.schema.json" in declared.stdout
    assert rows(penstock("schema", "x-*.tfrecord", "--infer").stdout)[0][:2] == ["image", "bytes"]


def test_a_schema_file_of_tfds_is_used(penstock, write_records, folder: Path):
    write_records("set-train.tfrecord-00000-of-00001", [example(label=1)])
    (folder / "features.json").write_text(ps.Schema({"label": ps.Feature("int32")}).to_tfds())
    assert rows(penstock("schema", "set-train*").stdout)[0][:2] == ["label", "int32"]


def test_a_schema_can_be_named(penstock, write_records, folder: Path):
    write_records("x.tfrecord", [example(a=1)])
    (folder / "mine.pbtxt").write_text(ps.Schema({"a": ps.Feature("int8")}).to_pbtxt())
    result = penstock("schema", "x.tfrecord", "--schema", "mine.pbtxt", "--format", "json")
    assert json.loads(result.stdout)["features"]["a"]["dtype"] == "int8"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.tfrecord"], "good.tfrecord, record 0: the record is not an Example"),
        (["gone.tfrecord"], "gone.tfrecord: no such file"),
        (["good.tfrecord", "--schema", "gone.json"], "gone.json: no such file"),
        (["good.tfrecord", "--schema", "good.tfrecord"], "good.tfrecord: "),
    ],
)
def test_problems_are_one_line(penstock, arguments: list[str], message: str):
    result = penstock("schema", *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"penstock: {message}")
    assert result.stderr.count("\n") == 1


def test_contradicting_records_are_both_named(penstock, write_records):
    write_records("x.tfrecord", [example(a=1), example(a="x")])
    stderr = penstock("schema", "x.tfrecord").stderr
    assert "'a' is int64 in x.tfrecord, record 0, but bytes in x.tfrecord, record 1" in stderr


@pytest.mark.parametrize("records", ["0", "some", "-1"])
def test_a_number_of_records_is_positive_or_all(penstock, records: str):
    result = penstock("schema", "good.tfrecord", "--infer-records", records)
    assert result.exit_code == 2
    assert "nor 'all'" in result.stderr


def test_the_manifest_of_a_dataset_is_used(penstock):
    ps.write("set", {"image": np.zeros((3, 4, 5), np.uint8), "label": np.arange(3)}, shards=2)
    result = penstock("schema", "set-*.tfrecord")
    assert rows(result.stdout)[0][:4] == ["image", "uint8", "(4, 5)", "raw"]
    assert "read from set.penstock.json" in result.stdout
    assert penstock("schema", ".", "--schema", "set.penstock.json", "--format", "json").exit_code == 0


def test_samples_of_booleans_are_booleans(penstock, tmp_path):
    schema = ps.Schema({"flag": ps.Feature("bool"), "flags": ps.Feature("bool", (2,)), "number": ps.Feature("int64")})
    ps.write(tmp_path / "some", [{"flag": True, "flags": [False, True], "number": 1}], schema=schema)
    table = rows(penstock("schema", str(tmp_path / "some")).stdout)
    assert [cells[-1] for cells in table] == ["True", "False, True", "1"]
