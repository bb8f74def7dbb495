"""What paths hold is found out, and several kinds at once are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import penstock as ps


def save(path: Path, rows: int) -> None:
    """Write Arrow's stream format, as Hugging Face saves datasets."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"x": list(range(rows))})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def test_a_saved_dataset_of_hugging_face(folder: Path):
    for part in ("train", "test"):
        save(folder / "saved" / part / "data-00000-of-00001.arrow", 3)
        save(folder / "saved" / part / "cache-1.arrow", 7)
        state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}
        (folder / "saved" / part / "state.json").write_text(json.dumps(state))
    (folder / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert ps.convert("saved/train", "data/t").records == 3
    with pytest.raises(ps.SchemaError, match="convert each by itself: saved/train, saved/test"):
        ps.convert("saved", "data/u")


@pytest.mark.parametrize(
    "state",
    [
        "[]",
        "{}",
        "{",
        "[" * 100_000,
        "\udcff",
        '{"_data_files": []}',
        '{"_data_files": 5}',
        '{"_data_files": [5]}',
        '{"_data_files": [{}]}',
        '{"_data_files": [{"filename": ".."}]}',
        '{"_data_files": [{"filename": "a\\u0000"}]}',
    ],
)
def test_a_damaged_state_of_hugging_face_is_an_error_with_its_name(folder: Path, state: str):
    save(folder / "saved" / "a.arrow", 3)
    for name in ("state.json", "dataset_dict.json"):
        path = folder / "saved" / name
        path.write_text(state, errors="surrogateescape")
        with pytest.raises(ps.CorruptDataError) as raised:
            ps.convert("saved", "out")
        assert raised.value.path == f"saved/{name}"
        path.unlink()


def test_a_folder_of_tables(folder: Path):
    (folder / "t").mkdir()
    for part in ("train-0", "train-1", "test-0"):
        pyarrow.parquet.write_table(pa.table({"x": [1]}), f"t/{part}-of-00002.parquet")
    with pytest.raises(ps.SchemaError, match="several tables"):
        ps.convert("t", "data/t")
    assert ps.convert("t/train-*", "data/t").records == 2
    (folder / "t" / "test-0-of-00002.parquet").unlink()
    assert ps.convert("t", "data/u").records == 2


def test_data_of_several_kinds_is_refused(folder: Path):
    (folder / "a.csv").write_text("x\n1\n")
    (folder / "b.jsonl").write_text('{"x": 1}\n')
    with pytest.raises(ValueError, match="several kinds, csv and jsonl: convert each by itself"):
        ps.convert(["a.csv", "b.jsonl"], "out")


def test_an_empty_folder_and_a_name_that_is_not_there_raise(folder: Path):
    (folder / "empty").mkdir()
    for name in ("empty", "nothing*.csv", "nothing.csv", "nothing"):
        with pytest.raises(FileNotFoundError):
            ps.convert(name, "out")
