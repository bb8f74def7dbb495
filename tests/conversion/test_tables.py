"""Tables as input and output: Parquet, Arrow, CSV and JSON Lines."""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path

import png_files
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from schema_examples import example

import penstock as ps

LABELS = list(range(20))


def write_table(name: str, table: pa.Table) -> None:
    match name.rpartition(".")[2]:
        case "parquet":
            pyarrow.parquet.write_table(table, name)
        case "arrow":
            pyarrow.feather.write_feather(table, name)
        case "jsonl":
            Path(name).write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        case form:
            options = pyarrow.csv.WriteOptions(delimiter="\t" if form == "tsv" else ",")
            pyarrow.csv.write_csv(table, name, options)


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


def test_text_tables_are_read_compressed_and_by_patterns(folder: Path):
    for number in range(3):
        with gzip.open(f"part-{number}.csv.gz", "wt") as file:
            file.write(f"a,b\n{number},x\n")
    ps.convert("part-*.csv.gz", "all.tsv")
    assert (folder / "all.tsv").read_text().splitlines()[1:] == ['0\t"x"', '1\t"x"', '2\t"x"']
    ps.convert("all.tsv", "all.jsonl.gz")
    ps.convert("all.jsonl.gz", "data/all")
    assert ps.Dataset("data/all").batch(9)[0].to_list() == [{"a": number, "b": "x"} for number in range(3)]


def test_json_lines_may_have_a_new_field_anywhere(folder: Path):
    rows = [{"a": 1}] * 100 + [{"a": 2.5, "b": ["x", "y"]}]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ps.convert("t.jsonl", "t", float64="float32")
    found = ps.Dataset("t").batch(200)[0].to_list()
    assert (found[0], found[100]) == ({"a": 1.0, "b": None}, {"a": 2.5, "b": ["x", "y"]})


def test_bytes_come_back_from_json_by_a_schema(write_records):
    write_records("x.tfrecord", [example(blob=b"\xff\x00", n=1)])
    ps.convert("x.tfrecord", "x.jsonl")
    schema = ps.Schema({"blob": bytes, "n": int})
    ps.convert("x.jsonl", "back", schema=schema)
    assert ps.Dataset("back")[0] == {"blob": b"\xff\x00", "n": 1}


def test_values_may_be_absent_after_the_first_rows_of_a_table(folder: Path):
    table = pa.table({"x": pa.array([*range(200_000), None])})
    pyarrow.parquet.write_table(table, "t.parquet", row_group_size=1000)
    with pa.OSFile("t.arrow", "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, 1000)
    for name in ("t.parquet", "t.arrow"):
        ps.convert(name, "data/t", replace=True)
        assert ps.Dataset("data/t")[200_000]["x"] is None


def test_a_table_becomes_another_with_its_types(folder: Path):
    table = pa.table({"x": [0.5, None], "tags": [["a"], []]})
    pyarrow.parquet.write_table(table, "t.parquet")
    ps.convert("t.parquet", "t.arrow", columns=["tags", "x"], limit=1, skip=1)
    assert pyarrow.feather.read_table("t.arrow").to_pylist() == [{"tags": [], "x": None}]


def test_images_and_classes_of_hugging_face(folder: Path):
    picture = png_files.png(3, 2, bytes(6))
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": ["cat", "dog"]}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    (folder / "dog.png").write_bytes(picture)
    images = [{"bytes": picture, "path": "a.png"}, {"bytes": None, "path": "dog.png"}, None]
    table = pa.table({"image": images, "label": [0, 1, 1]}).replace_schema_metadata(metadata)
    pyarrow.parquet.write_table(table, "t.parquet")
    ps.convert("t.parquet", "t")
    assert ps.Dataset("t").schema["label"].names == ("cat", "dog")
    stored = ps.Dataset("t", schema=ps.Schema({"image": ps.Feature(bytes, optional=True)}))
    assert [row["image"] for row in stored] == [picture, picture, None]


def image_table(path: str, *images: object) -> None:
    """Write a table whose metadata says that it has a column of images."""
    metadata = {"huggingface": json.dumps({"info": {"features": {"image": {"_type": "Image"}}}})}
    table = pa.table({"image": list(images)}).replace_schema_metadata(metadata)
    Path(path).parent.mkdir(exist_ok=True)
    (pyarrow.parquet.write_table if path.endswith("parquet") else pyarrow.feather.write_feather)(table, path)


@pytest.mark.parametrize("name", ["t/t.parquet", "t/t.arrow"])
def test_a_table_reads_no_file_outside_its_folder(folder: Path, name: str):
    secret = folder / "secret.txt"
    secret.write_bytes(b"secret")
    (folder / "t").mkdir()
    (folder / "t" / "link").symlink_to(secret)
    (folder / "t" / "above").symlink_to(folder)
    outside = [str(secret), "../secret.txt", "x/../../secret.txt", "link", "above/secret.txt", "/dev/zero"]
    for path in [*outside, secret.as_uri(), "https://example.com/a", "zip://a::b", "C:\\a", "", ".", "..", "a\0"]:
        image_table(name, {"bytes": None, "path": path})
        with pytest.raises(ps.CorruptDataError, match="is not read: ") as raised:
            ps.convert(name, "out")
        assert raised.value.path == name
    image_table(name, {"bytes": None, "path": "none.png"})
    with pytest.raises(FileNotFoundError):
        ps.convert(name, "out")
    for named in (0, b"link"):  # not a descriptor, and not the name of a file in bytes
        image_table(name, {"bytes": b"", "path": named}, {"bytes": None, "path": named})
        ps.convert(name, "out.jsonl", replace=True)
        assert "secret" not in (folder / "out.jsonl").read_text()


def test_images_in_other_files_belong_to_one_folder(folder: Path):
    for part in ("a", "b"):
        image_table(f"{part}/{part}.parquet", {"bytes": None, "path": "x.png"})
        (folder / part / "x.png").write_bytes(png_files.png(3, 2, bytes(6)))
    with pytest.raises(ps.CorruptDataError, match="several folders: convert those of each folder by themselves"):
        ps.convert(["a/a.parquet", "b/b.parquet"], "out")
    assert ps.convert("b/b.parquet", "out").records == 1


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.jsonl", "t.csv"])
def test_a_damaged_table_is_an_error_with_its_name(folder: Path, name: str):
    (folder / name).write_bytes(b"\x00\x01{not a table")
    with pytest.raises((ps.PenstockError, ValueError)) as raised:
        ps.convert(name, "out")
    assert name in str(getattr(raised.value, "path", raised.value))
    assert not list(folder.glob("out*"))


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


@pytest.mark.parametrize("extension", ["parquet", "arrow", "csv", "tsv", "jsonl"])
def test_files_may_have_columns_that_others_lack(folder: Path, extension: str):
    for number, columns in enumerate([{"a": [1]}, {"b": ["x"], "a": [2]}, {"a": [3], "c": [True]}]):
        write_table(f"p{number}.{extension}", pa.table(columns))
    ps.convert(f"p*.{extension}", "out")
    rows = list(ps.Dataset("out"))
    assert rows == [{"a": 1, "b": None, "c": None}, {"a": 2, "b": "x", "c": None}, {"a": 3, "b": None, "c": True}]


@pytest.mark.parametrize("extension", ["parquet", "arrow"])
def test_nested_columns_that_only_a_later_file_has(folder: Path, extension: str):
    write_table(f"p0.{extension}", pa.table({"a": [{"x": 1}]}))
    kind = pa.array(["u", "v"]).dictionary_encode()
    write_table(f"p1.{extension}", pa.table({"a": [{"x": 2, "y": "z"}] * 2, "b": [[1], []], "kind": kind}))
    ps.convert(f"p*.{extension}", "out")
    ps.convert("out", "back.parquet")
    assert pyarrow.parquet.read_table("back.parquet").to_pylist() == [
        {"a": {"x": 1, "y": None}, "b": None, "kind": None},
        {"a": {"x": 2, "y": "z"}, "b": [1], "kind": "u"},
        {"a": {"x": 2, "y": "z"}, "b": [], "kind": "v"},
    ]


@pytest.mark.parametrize("extension", ["parquet", "arrow", "csv"])
def test_types_of_files_are_promoted_only_if_no_value_changes(folder: Path, extension: str):
    write_table(f"p0.{extension}", pa.table({"a": [1]}))
    write_table(f"p1.{extension}", pa.table({"a": [0.5]}))
    ps.convert(f"p*.{extension}", "out", float64="float32")
    assert [row["a"] for row in ps.Dataset("out")] == [1, 0.5]
    write_table(f"p1.{extension}", pa.table({"a": ["text"]}))
    with pytest.raises(ps.SchemaError, match=rf"p1.{extension} and the files before it .*\ba\b.* int64 .*string"):
        ps.convert(f"p*.{extension}", "bad")


@pytest.mark.parametrize("extension", ["parquet", "arrow", "csv"])
def test_integers_that_no_float_holds_are_an_error(folder: Path, extension: str):
    write_table(f"p0.{extension}", pa.table({"a": [0.5]}))
    write_table(f"p1.{extension}", pa.table({"a": [2**53 + 1]}))
    with pytest.raises(ps.SchemaError, match="9007199254740993"):
        ps.convert(f"p*.{extension}", "out", float64="float32")


@pytest.mark.parametrize("extension", ["csv", "tsv"])
def test_line_breaks_in_values_of_large_text_tables(folder: Path, extension: str):
    texts = [f"{number}\n\n" + "line, \t\n" * 99 for number in range(4000)]
    ps.write("data", [{"label": number, "text": text} for number, text in enumerate(texts)])
    ps.convert("data", f"t.{extension}")
    ps.convert(f"t.{extension}", "back")
    assert [row["text"] for row in ps.Dataset("back")] == texts


def test_text_of_json_that_looks_like_a_time_stays_text(folder: Path):
    row = {"day": "2026-01-30", "days": ["2026-01-30T01:02:03Z"], "at": {"day": "2026-01-30 00:00"}}
    (folder / "t.jsonl").write_text(json.dumps(row))
    ps.convert("t.jsonl", "text")
    ps.convert("text", "t.parquet")
    assert pyarrow.parquet.read_table("t.parquet").to_pylist() == [row]
    schema = ps.Schema({"day": ps.Feature("int64", logical="timestamp[s]")})
    ps.convert("t.jsonl", "times", schema=schema, columns=["day"])
    assert ps.Dataset("times").to_arrow()["day"].to_pylist() == [datetime(2026, 1, 30)]
