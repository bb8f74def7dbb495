"""penstock convert."""

from __future__ import annotations

import json
from pathlib import Path

import framing
import pyarrow as pa
import pyarrow.parquet
import pytest
from schema_examples import example

import penstock as ps


@pytest.fixture
def train(folder: Path) -> str:
    ps.write("data/train", {"label": list(range(20))}, shards=2)
    return "data/train"


def test_options_reach_the_function(penstock, train):
    options = ["--shards", "3", "--shuffle", "7", "--output-compression", "gzip", "--skip", "2", "--limit", "10"]
    result = penstock("convert", train, "-o", "data/new", *options)
    assert (result.exit_code, result.stdout) == (0, "data/new: 10 records\n")
    new = ps.Dataset("data/new")
    assert len(new.files) == 3
    assert new.files[0].endswith(".tfrecord.gz")
    assert [row["label"] for row in new] == [row["label"] for row in ps.Dataset(train).shuffle(seed=7).skip(2).take(10)]


def test_rows_and_columns_are_chosen(penstock, folder: Path):
    ps.write("data/train", {"id": range(20), "label": [i % 3 for i in range(20)], "x": [0] * 20})
    options = ["--where", "label == 1 or id < 3", "--drop", "x", "--rename", "label=class", "--sort", "id"]
    assert (
        penstock("convert", "data/train", "-o", "out", *options, "--descending", "--shard-size", "1MB").exit_code == 0
    )
    assert [row["id"] for row in ps.Dataset("out")] == [19, 16, 13, 10, 7, 4, 2, 1, 0]
    assert list(ps.Dataset("out").schema) == ["id", "class"]
    result = penstock("convert", "data/train", "-o", "part", "--split", "id:50/50", "--unique", "*", "--json")
    found = json.loads(result.stdout)
    assert found["parts"] == {name: len(ps.Dataset(f"part-{name}")) for name in ("train", "test")}
    assert penstock("convert", "data/train", "-o", "x", "--rename", "label").exit_code == 2
    assert "did you mean 'label'" in penstock("convert", "data/train", "-o", "x", "--where", "lable == 1").stderr


def test_records_go_to_standard_output(penstock, train, folder: Path):
    result = penstock("convert", train, "-o", "-", "--to", "tfrecord", "--limit", "3")
    (folder / "out.tfrecord").write_bytes(result.stdout_bytes)
    assert [row["label"] for row in ps.Dataset("out.tfrecord")] == [0, 1, 2]
    assert "3 records" in result.stderr


def test_the_old_name_of_an_option_fails_with_the_new_one(penstock, train):
    result = penstock("convert", train, "-o", "data/new", "--pack", "gzip")
    assert result.exit_code == 2
    assert "--pack is now --output-compression." in result.stderr


def test_errors_name_options_of_the_command_line(penstock, folder: Path):
    pa.parquet.write_table(pa.table({"a": [0.5]}), "doubles.parquet")
    assert (
        'with the option float64, choose "float32" (rounded) or "raw"'
        in penstock("convert", "doubles.parquet", "-o", "x").stderr
    )
    assert penstock("convert", "doubles.parquet", "-o", "x", "--float64", "raw").exit_code == 0
    with ps.RecordWriter(folder / "one.tfrecord.snappy") as writer:
        writer.write_many([example(a=1)] * 3)
    refused = penstock("convert", "one.tfrecord.snappy", "-o", "y", "--shuffle", "1")
    assert refused.exit_code == 1
    assert "shuffle a copy, which has it:  penstock convert FILE -o COPY" in refused.stderr
    assert "window" not in refused.stderr


def test_a_file_in_place_of_a_folder_is_reported(penstock, train, folder: Path):
    (folder / "note").write_text("a file")
    for output in ("note/new.parquet", "note/new.csv", "note/new"):
        refused = penstock("convert", train, "-o", output)
        assert refused.exit_code == 1
        assert "it cannot be written: not a directory; choose another place" in refused.stderr


def test_an_output_that_exists_is_replaced_with_an_option(penstock, train):
    for output in ("x.parquet", "data/new"):
        assert penstock("convert", train, "-o", output).exit_code == 0
        again = penstock("convert", train, "-o", output)
        assert again.exit_code == 2
        assert "--replace" in again.stderr
        assert penstock("convert", train, "-o", output, "--replace").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("data/train", "-o", "x.xlsx"), "Unknown extension .xlsx"),
        (("-", "-o", "x.parquet"), "save the data of the pipe to a file first"),
        (("data/train", "-o", "-", "--json"), "choose one"),
    ],
)
def test_arguments_that_contradict_each_other_have_status_2(penstock, arguments: tuple[str, ...], message: str):
    result = penstock("convert", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_damage_is_a_line_and_can_be_skipped(penstock, train, folder: Path):
    assert "nothing.tfrecord: no such file" in penstock("convert", train, "nothing.tfrecord", "-o", "data/new").stderr
    shard = folder / "data" / "train-00001-of-00002.tfrecord"
    shard.write_bytes(framing.flip(shard.read_bytes(), 20))
    result = penstock("convert", train, "-o", "data/new", "--json")
    assert (result.exit_code, json.loads(result.stdout)["records"]) == (1, 0)
    assert "record 0" in result.stderr
    result = penstock("convert", train, "-o", "data/new", "--skip-damaged", "--json")
    found = json.loads(result.stdout)
    assert (found["records"], len(found["problems"])) == (19, 1)
    assert list(found["problems"][0])[:4] == ["path", "kind", "cause", "advice"]
    assert result.stderr.count("penstock:") == 1


def test_a_condition_on_no_column_shows_where(penstock, folder):
    ps.write("numbers", [{"id": 1}])
    result = penstock("convert", "numbers", "-o", "some.jsonl", "--where", "idd > 3")
    assert result.exit_code == 2
    assert "no column 'idd': did you mean 'id'?\n  idd > 3\n  ^" in result.stderr
