"""penstock convert."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import framing
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from schema_examples import example

import penstock as ps


@pytest.fixture
def train(folder: Path) -> str:
    rows = [{"label": i, "name": f"n{i}" if i % 2 else None, "tokens": [7] * (i % 3)} for i in range(20)]
    ps.write("data/train", rows, shards=2)
    return "data/train"


LABELS = list(range(20))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("x.parquet", pyarrow.parquet.read_table),
        ("x.arrow", pyarrow.feather.read_table),
        ("new/x.feather", pyarrow.feather.read_table),
    ],
)
def test_records_become_tables(penstock, train, name: str, read):
    result = penstock("convert", train, "-o", name)
    assert (result.exit_code, result.stdout) == (0, f"{name}: 20 records\n")
    table = read(name)
    assert table["label"].to_pylist() == LABELS
    assert table["name"].to_pylist()[:2] == [None, "n1"]
    assert table["tokens"].to_pylist()[:3] == [[], [7], [7, 7]]


def test_json_has_an_example_a_line(penstock, write, folder: Path):
    write("x.tfrecord", [example(blob=b"\xff\x00", score=[0.5, float("nan")])])
    assert penstock("convert", "x.tfrecord", "-o", "x.jsonl").exit_code == 0
    assert json.loads((folder / "x.jsonl").read_text()) == {"blob": "/wA=", "score": [0.5, "NaN"]}


def test_csv_has_what_fits_a_field(penstock, train):
    result = penstock("convert", train, "-o", "x.csv")
    assert result.exit_code == 1
    assert "'tokens'" in result.stderr
    assert "--feature" in result.stderr
    assert penstock("convert", train, "-o", "x.csv", "-f", "label", "-f", "name").exit_code == 0
    assert pyarrow.csv.read_csv("x.csv")["label"].to_pylist() == LABELS


def test_records_are_dealt_out_anew(penstock, train):
    result = penstock("convert", train, "-o", "data/new", "--shards", "3", "--shuffle", "7", "--pack", "gzip")
    assert result.exit_code == 0
    new, old = ps.Dataset("data/new"), ps.Dataset(train)
    assert new.schema == old.schema
    assert len(new.files) == 3
    assert new.files[0].endswith(".tfrecord.gz")
    labels = [row["label"] for row in new]
    assert labels != LABELS
    assert sorted(labels) == LABELS


def test_a_sample_is_a_part_of_a_shuffle(penstock, train):
    for name, options in {"a": ["--limit", "5"], "b": ["--skip", "5"]}.items():
        assert penstock("convert", train, "-o", name, "--shuffle", "1", *options).exit_code == 0
    a, b = ([row["label"] for row in ps.Dataset(name)] for name in "ab")
    assert len(a) == 5
    assert sorted(a + b) == LABELS


def test_tables_become_records(penstock):
    pyarrow.parquet.write_table(pa.table({"x": [0.5, 1.5], "name": ["a", None]}), "t.parquet")
    assert "float64" in penstock("convert", "t.parquet", "-o", "data/t").stderr
    assert penstock("convert", "t.parquet", "-o", "data/t", "--float64", "float32", "--shards", "2").exit_code == 0
    assert [row["name"] for row in ps.Dataset("data/t")] == ["a", None]


def test_a_table_goes_back_to_the_records_it_was_made_of(penstock, train):
    for name in ("x.parquet", "x.arrow"):
        assert penstock("convert", train, "-o", name).exit_code == 0
        assert penstock("convert", name, "-o", f"back/{name[2:]}").exit_code == 0
        old, new = ps.Dataset(train), ps.Dataset(f"back/{name[2:]}")
        assert new.schema == old.schema
        assert new.records(range(20)) == old.records(range(20))


def test_a_schema_says_what_columns_of_a_table_become(penstock, folder: Path):
    (folder / "t.csv").write_text("x,name\n1,a\n2,b\n")
    ps.Schema({"x": ps.Feature("uint8"), "name": bytes}).save("t.schema.json")
    assert penstock("convert", "t.csv", "-o", "data/t", "--schema", "t.schema.json").exit_code == 0
    assert ps.Dataset("data/t").schema == ps.Schema.load("t.schema.json")


def test_csv_tells_absent_values_from_empty_text(penstock, folder: Path):
    text = '"label","name"\n1,"a"\n,""\n3,\n4,"NA"\n'
    (folder / "t.csv").write_text(text)
    assert penstock("convert", "t.csv", "-o", "data/t").exit_code == 0
    rows = list(ps.Dataset("data/t"))
    assert [row["name"] for row in rows] == ["a", "", None, "NA"]
    assert [row["label"] for row in rows] == [1, None, 3, 4]
    assert penstock("convert", "data/t", "-o", "back.csv").exit_code == 0
    assert (folder / "back.csv").read_text() == text


def test_a_column_of_csv_is_absent_row_by_row(penstock, folder: Path):
    text = '"name"\n"a"\n\n""\n'
    (folder / "t.csv").write_text(text)
    assert penstock("convert", "t.csv", "-o", "data/t").exit_code == 0
    assert [row["name"] for row in ps.Dataset("data/t")] == ["a", None, ""]
    assert penstock("convert", "data/t", "-o", "back.csv").exit_code == 0
    assert (folder / "back.csv").read_text() == text


def test_a_field_that_is_empty_far_behind_the_first_rows(penstock, folder: Path):
    (folder / "t.csv").write_text("label,name\n" + "1,some text\n" * 200_000 + "2,\n")
    assert penstock("convert", "t.csv", "-o", "data/t").exit_code == 0
    assert ps.Dataset("data/t")[200_000]["name"] is None


def test_a_column_without_values_has_no_type(penstock, folder: Path):
    (folder / "t.csv").write_text("a,b\n1,\n2,\n")
    assert (
        "column 'b' has no value that shows its type: say it with --schema"
        in penstock("convert", "t.csv", "-o", "t").stderr
    )
    ps.Schema({"a": int, "b": ps.Feature("str", optional=True)}).save("t.schema.json")
    assert penstock("convert", "t.csv", "-o", "t", "--schema", "t.schema.json").exit_code == 0
    assert [row["b"] for row in ps.Dataset("t")] == [None, None]


def test_the_types_of_a_schema_reach_csv(penstock, folder: Path):
    text = '"zip","weight","code","ok"\n"01234",1,7,true\n"00007",0.1,,false\n'
    (folder / "t.csv").write_text(text.replace('"', ""))
    schema = ps.Schema({"zip": str, "weight": float, "code": ps.Feature("int16", optional=True), "ok": bool})
    schema.save("t.schema.json")
    assert penstock("convert", "t.csv", "-o", "data/t", "--schema", "t.schema.json").exit_code == 0
    rows = list(ps.Dataset("data/t"))
    assert [row["zip"] for row in rows] == ["01234", "00007"]
    assert [row["code"] for row in rows] == [7, None]
    assert penstock("convert", "data/t", "-o", "back.csv").exit_code == 0
    assert (folder / "back.csv").read_text() == text
    ps.Schema({"zip": int, "weight": int, "code": int, "ok": bool}).save("t.schema.json")
    refused = penstock("convert", "t.csv", "-o", "data/u", "--schema", "t.schema.json")
    assert refused.exit_code != 0
    assert "0.1" in refused.stderr


def test_what_exists_is_replaced_when_asked_for(penstock, train):
    for output in ("x.parquet", "data/new"):
        assert penstock("convert", train, "-o", output).exit_code == 0
        again = penstock("convert", train, "-o", output)
        assert again.exit_code == 2
        assert "--replace" in again.stderr
        assert penstock("convert", train, "-o", output, "--replace").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("data/train", "-o", "x.xlsx"), "Nothing is known of .xlsx"),
        (("-", "-o", "x.parquet"), "through the pipe"),
        (("a.csv", "-o", "x.parquet"), "a name without an extension"),
        (("data/train", "-o", "s3://bucket/x.parquet"), "a file of this machine"),
    ],
)
def test_what_cannot_be_done_is_said(penstock, arguments: tuple[str, ...], message: str):
    result = penstock("convert", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_ways_out_are_those_of_the_command_line(penstock, folder: Path):
    pa.parquet.write_table(pa.table({"a": [0.5]}), "doubles.parquet")
    assert (
        'with the option float64, choose "float32" (rounded) or "raw"'
        in penstock("convert", "doubles.parquet", "-o", "x").stderr
    )
    assert penstock("convert", "doubles.parquet", "-o", "x", "--float64", "raw").exit_code == 0
    (folder / "one.tfrecord.gz").write_bytes(gzip.compress(framing.frames([example(a=1)] * 3)))
    refused = penstock("convert", "one.tfrecord.gz", "-o", "y", "--shuffle", "1")
    assert refused.exit_code == 1
    assert "shuffle a copy, which has it:  penstock convert FILE -o COPY" in refused.stderr
    assert "window" not in refused.stderr


def test_a_file_is_no_folder(penstock, train, folder: Path):
    (folder / "note").write_text("a file")
    for output in ("note/new.parquet", "note/new.csv", "note/new"):
        refused = penstock("convert", train, "-o", output)
        assert refused.exit_code == 1
        assert "it cannot be written: not a directory; choose another place" in refused.stderr


def test_nothing_is_written_where_a_file_is_missing_or_damaged(penstock, train, folder: Path):
    before = sorted(path.name for path in folder.rglob("*"))
    assert penstock("convert", train, "nothing.tfrecord", "-o", "data/new").exit_code == 1
    shard = folder / "data" / "train-00001-of-00002.tfrecord"
    data = bytearray(shard.read_bytes())
    data[20] ^= 1
    shard.write_bytes(data)
    for output in ("data/new", "new.parquet"):
        result = penstock("convert", train, "-o", output)
        assert result.exit_code == 1
        assert "record 0" in result.stderr
    assert sorted(path.name for path in folder.rglob("*")) == before
    result = penstock("convert", train, "-o", "data/new", "--skip-damaged", "--json")
    assert json.loads(result.stdout)["records"] == 19
    assert len(json.loads(result.stdout)["problems"]) == 1
    assert result.stderr.count("penstock:") == 1
