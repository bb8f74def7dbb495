"""Rows and columns are chosen, ordered and renamed on the way: from tables and from records alike."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.conversion.reshape import parse_split

ROWS = [
    {"id": i, "label": i * 7 % 5, "name": None if i % 6 == 5 else f"n{i % 4}", "score": [i / 2] * (i % 3)}
    for i in range(40)
]

KINDS = pa.schema([("id", pa.int64()), ("label", pa.int64()), ("name", pa.string()), ("score", pa.list_(pa.float32()))])


@pytest.fixture(params=["rows.parquet", "rows"])
def source(request: pytest.FixtureRequest, folder: Path) -> str:
    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS, KINDS), "rows.parquet", row_group_size=7)
    ps.convert("rows.parquet", "rows")
    return str(request.param)


def read(name: str) -> list[dict[str, Any]]:
    return ps.Dataset(name).to_arrow().to_pylist()


def test_rows_that_meet_a_condition(source):
    ps.convert(source, "out", where="label == 3 and name is not null", skip=1, limit=3)
    assert read("out") == [row for row in ROWS if row["label"] == 3 and row["name"] is not None][1:4]
    with pytest.raises(ps.ExpressionError, match="did you mean 'label'"):
        ps.convert(source, "x", where="lable == 3")


def test_columns_go_by_their_old_names(source):
    ps.convert(source, "out", where="id < 3", columns=["name", "id", "label"], drop=["label"], rename={"id": "number"})
    assert read("out") == [{"name": row["name"], "number": row["id"]} for row in ROWS[:3]]
    for option in ({"columns": ["nam"]}, {"drop": ["nam"]}, {"rename": {"nam": "x"}}):
        with pytest.raises(ps.SchemaError, match="did you mean 'name'"):
            ps.convert(source, "x", **option)
    with pytest.raises((ps.SchemaError, ValueError), match="name"):
        ps.convert(source, "x", rename={"id": "name"})


def test_order_and_duplicates(source):
    ps.convert(source, "out", unique="label", sort="label", descending=True)
    assert [row["id"] for row in read("out")] == [2, 4, 1, 3, 0]
    ps.convert(source, "all", unique=[])
    assert read("all") == ROWS
    ps.convert(source, "shuffled.jsonl", shuffle=7, columns=["id"])
    ps.convert(source, "shuffled", shuffle=7)
    assert [row["id"] for row in read("shuffled")] == [row["id"] for row in ps.Dataset("rows").shuffle(seed=7)]
    with pytest.raises(ps.SchemaError, match="'nothing'"):
        ps.convert(source, "x", sort=["nothing"])


@pytest.mark.parametrize("output", ["out", "out.parquet"])
def test_a_split_writes_all_rows_once(source, folder: Path, output: str):
    report = ps.convert(source, output, split="name:50/30/20", columns=["id", "name"])
    assert report.records == 40
    assert sum(report.parts.values()) == 40
    names = {}
    for part in ("train", "val", "test"):
        path = output.replace("out", f"out-{part}")
        rows = pyarrow.parquet.read_table(path).to_pylist() if output.endswith("t") and "." in output else read(path)
        assert len(rows) == report.parts[part]
        names[part] = {row["name"] for row in rows}
    assert not names["train"] & names["test"]
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    with pytest.raises(FileExistsError):
        ps.convert(source, output, split="name:50/30/20")
    ps.convert(source, output, split="50/50", replace=True)


def test_nothing_is_left_of_a_conversion_that_fails(source, folder: Path):
    before = sorted(folder.rglob("*"))
    with pytest.raises(ps.SchemaError):
        ps.convert(source, "new/out", sort="label", drop=["nothing"])
    assert sorted(path for path in folder.rglob("*") if path.name != "new") == before


def test_shards_by_size_and_rows(source):
    ps.convert(source, "rows10", rows_per_shard=10)
    assert [shard.records for shard in ps.Manifest.load("rows10.penstock.json").shards] == [10] * 4
    ps.convert(source, "small", shard_bytes="1KB")
    assert len(ps.Dataset("small").files) > 2
    with pytest.raises(ValueError, match="pass one of"):
        ps.convert(source, "x", shards=2, rows_per_shard=10)


@pytest.mark.parametrize("through", [None, "id"])
def test_a_struct_is_selected_renamed_and_dropped_whole(folder: Path, through: str | None):
    table = pa.table({"id": [1, 2], "s": [{"a": dt.date(2020, 1, 1), "b": [1]}, None], "t": [{"a": 1}, {"a": 2}]})
    pyarrow.parquet.write_table(table, "t.parquet")
    ps.convert("t.parquet", "out", columns=["s", "t"], drop=["t"], rename={"s": "u"}, sort=through or ())
    assert read("out") == [{"u": row} for row in table["s"].to_pylist()]


@pytest.mark.parametrize(
    ("text", "parts", "key"),
    [
        ("id:80/10/10", {"train": 0.8, "val": 0.1, "test": 0.1}, "id"),
        ("3/1", {"train": 0.75, "test": 0.25}, None),
        ("a:b:x=1/y=1/z=1/w=1", {"x": 0.25, "y": 0.25, "z": 0.25, "w": 0.25}, "a:b"),
    ],
)
def test_splits_are_parsed(text: str, parts: dict[str, float], key: str | None):
    assert parse_split(text) == (parts, key)


@pytest.mark.parametrize("text", ["", "id", "id:80", "1/1/1/1", "a=1/a=1", "0/0", "id:80/x", "80/-1"])
def test_what_is_no_split_raises(text: str):
    with pytest.raises(ValueError, match=r"split|part"):
        parse_split(text)


@settings(max_examples=25)
@given(st.data())
def test_any_chain_equals_a_model(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    values = st.fixed_dictionaries({"k": st.integers(0, 3), "t": st.none() | st.text("ab", max_size=2)})
    rows = data.draw(st.lists(values, min_size=1, max_size=12))
    rows = [{"id": number, **row} for number, row in enumerate(rows)]
    kinds = pa.schema([("id", pa.int64()), ("k", pa.int64()), ("t", pa.string())])
    least, skip = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    limit, unique, descending = (
        data.draw(st.none() | st.integers(1, 5)),
        data.draw(st.booleans()),
        data.draw(st.booleans()),
    )
    folder = tmp_path_factory.mktemp("chain")
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows, kinds), folder / "t.parquet", row_group_size=3)
    ps.convert(folder / "t.parquet", folder / "t")
    expected = [row for row in rows if row["k"] >= least]
    if unique:
        expected = [
            row for number, row in enumerate(expected) if row["t"] not in [other["t"] for other in expected[:number]]
        ]
    expected = sorted(expected, key=lambda row: -row["k"] if descending else row["k"])[skip:]
    expected = [{"t": row["t"], "n": row["id"]} for row in expected[:limit]]
    for name in ("t", "t.parquet"):
        ps.convert(
            folder / name,
            folder / "out.arrow",
            where=f"k >= {least}",
            unique="t" if unique else None,
            sort="k",
            descending=descending,
            skip=skip,
            limit=limit,
            columns=["t", "id"],
            rename={"id": "n"},
            replace=True,
        )
        with pa.memory_map(str(folder / "out.arrow")) as file:
            assert pa.ipc.open_file(file).read_all().to_pylist() == expected, name


@pytest.mark.parametrize("memory", ["1GB", 4096])
def test_records_are_copied_as_they_are_stored_in_any_amount_of_memory(memory, source):
    ps.convert(source, "out", unique="label", sort="label", descending=True, memory=memory)
    assert [row["id"] for row in read("out")] == [2, 4, 1, 3, 0]
    ps.convert(source, "one.tfrecord", shuffle=7, memory=memory)
    ps.convert(source, "table.parquet", shuffle=7)
    assert read("one.tfrecord") == pyarrow.parquet.read_table("table.parquet").to_pylist()
    ps.convert(source, "again", split="id:1/1", shards=2, output_compression="GZIP", memory=memory)
    assert sorted(read("again-train") + read("again-test"), key=lambda row: row["id"]) == ROWS
    with pytest.raises(ValueError, match="memory is a number of bytes"):
        ps.convert(source, "x", memory="much")


def test_what_a_killed_process_left_is_removed(folder: Path):
    (folder / "rows.csv").write_text("x\n2\n1\n")
    killed = """
import os
from penstock.writing.hidden_files import temporary_folder
with temporary_folder("data/out", "rows") as folder:
    open(os.path.join(folder, "rows"), "w").close()
    os._exit(0)
"""
    (folder / "data").mkdir()
    subprocess.run([sys.executable, "-c", killed], check=True)
    assert len(list(folder.glob("data/.out*.partial"))) == 2
    ps.convert("rows.csv", "data/out", sort="x")
    assert [row["x"] for row in read("data/out")] == [1, 2]
    assert not list(folder.glob("data/.*"))


def test_a_folder_that_cannot_be_removed_hides_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    (folder / "rows.csv").write_text("x\n2\n1\n")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", refuse)
        with pytest.raises(ps.SchemaError, match="no feature") as caught:
            ps.convert("rows.csv", "data", sort="y")
        assert "which is temporary, is left: [Errno 13] Permission denied" in caught.value.__notes__[0]
        with pytest.raises(PermissionError) as caught_later:
            ps.convert("rows.csv", "data", sort="x")
    assert "the output is complete" in caught_later.value.__notes__[0]
    assert [row["x"] for row in read("data")] == [1, 2]
    ps.convert("rows.csv", "data", sort="x", replace=True)
    assert not list(folder.glob(".data*"))


def test_too_little_room_is_noticed_before_rows_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch):
    (folder / "rows.csv").write_text("x\n2\n1\n")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(9, 4, 5))
    with pytest.raises(OSError, match="this needs 6 bytes, with temporary files, and 5 are free"):
        ps.convert("rows.csv", "out.parquet", sort="x")
    assert not [*folder.glob("out*"), *folder.glob(".out*")]
