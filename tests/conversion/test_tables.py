"""Tables as input and output: Parquet, Arrow, CSV and JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from schema_examples import example

import penstock as ps

LABELS = list(range(20))


@pytest.fixture
def train(folder: Path) -> str:
    rows = [{"label": i, "name": f"n{i}" if i % 2 else None, "tokens": [7] * (i % 3)} for i in range(20)]
    ps.write("data/train", rows, shards=2)
    return "data/train"


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("x.parquet", pyarrow.parquet.read_table),
        ("x.arrow", pyarrow.feather.read_table),
        ("new/x.feather", pyarrow.feather.read_table),
    ],
)
def test_records_become_tables(train, name: str, read):
    assert ps.convert(train, name) == ps.ConvertReport(name, 20)
    table = read(name)
    assert table["label"].to_pylist() == LABELS
    assert table["name"].to_pylist()[:2] == [None, "n1"]
    assert table["tokens"].to_pylist()[:3] == [[], [7], [7, 7]]


def test_json_lines_have_one_example_each(write_records, folder: Path):
    write_records("x.tfrecord", [example(blob=b"\xff\x00", score=[0.5, float("nan")])])
    ps.convert("x.tfrecord", "x.jsonl")
    assert json.loads((folder / "x.jsonl").read_text()) == {"blob": "/wA=", "score": [0.5, "NaN"]}


def test_csv_takes_only_scalars(train):
    with pytest.raises(ps.SchemaError, match=r"feature .tokens. is .*: choose other features, or write \.parquet"):
        ps.convert(train, "x.csv")
    ps.convert(train, "x.csv", columns=["label", "name"])
    assert pyarrow.csv.read_csv("x.csv")["label"].to_pylist() == LABELS


def test_tables_become_records(folder):
    pyarrow.parquet.write_table(pa.table({"x": [0.5, 1.5], "name": ["a", None]}), "t.parquet")
    with pytest.raises(ps.SchemaError, match="float64"):
        ps.convert("t.parquet", "data/t")
    ps.convert("t.parquet", "data/t", float64="float32", shards=2)
    assert [row["name"] for row in ps.Dataset("data/t")] == ["a", None]


def test_a_table_goes_back_to_the_records_it_was_made_of(train):
    for name in ("x.parquet", "x.arrow"):
        ps.convert(train, name)
        ps.convert(name, f"back/{name[2:]}")
        old, new = ps.Dataset(train), ps.Dataset(f"back/{name[2:]}")
        assert new.schema == old.schema
        assert new.records(range(20)) == old.records(range(20))


def test_a_schema_chooses_the_features_of_a_table(folder: Path):
    (folder / "t.csv").write_text("x,name\n1,a\n2,b\n")
    ps.Schema({"x": ps.Feature("uint8"), "name": bytes}).save("t.schema.json")
    ps.convert("t.csv", "data/t", schema="t.schema.json")
    assert ps.Dataset("data/t").schema == ps.Schema.load("t.schema.json")


def test_csv_distinguishes_missing_values_from_empty_text(folder: Path):
    text = '"label","name"\n1,"a"\n,""\n3,\n4,"NA"\n'
    (folder / "t.csv").write_text(text)
    ps.convert("t.csv", "data/t")
    rows = list(ps.Dataset("data/t"))
    assert [row["name"] for row in rows] == ["a", "", None, "NA"]
    assert [row["label"] for row in rows] == [1, None, 3, 4]
    ps.convert("data/t", "back.csv")
    assert (folder / "back.csv").read_text() == text


def test_a_column_of_csv_is_missing_row_by_row(folder: Path):
    text = '"name"\n"a"\n\n""\n'
    (folder / "t.csv").write_text(text)
    ps.convert("t.csv", "data/t")
    assert [row["name"] for row in ps.Dataset("data/t")] == ["a", None, ""]
    ps.convert("data/t", "back.csv")
    assert (folder / "back.csv").read_text() == text


def test_a_field_that_is_empty_far_after_the_first_rows(folder: Path):
    (folder / "t.csv").write_text("label,name\n" + "1,some text\n" * 200_000 + "2,\n")
    ps.convert("t.csv", "data/t")
    assert ps.Dataset("data/t")[200_000]["name"] is None


def test_a_column_without_values_has_no_type(folder: Path):
    (folder / "t.csv").write_text("a,b\n1,\n2,\n")
    with pytest.raises(ps.SchemaError, match="column 'b' has no value to infer its type from: pass a schema"):
        ps.convert("t.csv", "t")
    ps.Schema({"a": int, "b": ps.Feature("str", optional=True)}).save("t.schema.json")
    ps.convert("t.csv", "t", schema="t.schema.json")
    assert [row["b"] for row in ps.Dataset("t")] == [None, None]


def test_csv_is_read_with_the_types_of_a_schema(folder: Path):
    text = '"zip","weight","code","ok"\n"01234",1,7,true\n"00007",0.1,,false\n'
    (folder / "t.csv").write_text(text.replace('"', ""))
    schema = ps.Schema({"zip": str, "weight": float, "code": ps.Feature("int16", optional=True), "ok": bool})
    schema.save("t.schema.json")
    ps.convert("t.csv", "data/t", schema="t.schema.json")
    rows = list(ps.Dataset("data/t"))
    assert [row["zip"] for row in rows] == ["01234", "00007"]
    assert [row["code"] for row in rows] == [7, None]
    ps.convert("data/t", "back.csv")
    assert (folder / "back.csv").read_text() == text
    ps.Schema({"zip": int, "weight": int, "code": int, "ok": bool}).save("t.schema.json")
    with pytest.raises(ValueError, match=r"0\.1"):
        ps.convert("t.csv", "data/u", schema="t.schema.json")
