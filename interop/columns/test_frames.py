"""Batches in Polars, pandas and DuckDB: the same values, and in Polars the same memory."""

from __future__ import annotations

from pathlib import Path

import duckdb
import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import penstock as ps
from penstock.columns import Batch, BytesColumn, Nullable, Ragged, batches_from_arrow, from_arrow

LONG = "a text that lies in a buffer"
TEXT = pa.array(["", "short", LONG, "ünï", LONG * 2], pa.string_view())
BLOBS = pa.array([b"", b"\xff", b"\x00" * 30, b"x", b"y" * 13], pa.binary_view())


def batch() -> Batch:
    strings = from_arrow(pa.table({"text": TEXT, "blob": BLOBS}))
    return Batch(
        {
            "int": np.arange(5, dtype=np.int32),
            "double": np.arange(5) / 4,
            "flag": np.arange(5) % 2 == 0,
            "vector": np.arange(10, dtype=np.float32).reshape(5, 2),
            "matrix": np.arange(20, dtype=np.uint8).reshape(5, 2, 2),
            "text": strings["text"],
            "blob": strings["blob"],
            "ragged": Ragged(np.arange(9), [0, 2, 2, 5, 8, 9]),
            "words": Ragged(strings["text"], [0, 2, 2, 3, 3, 5]),
            "deep": Ragged(Ragged(np.arange(4.0), [0, 1, 1, 4]), [0, 1, 1, 2, 2, 3]),
            "optional": Nullable(np.arange(5), [True, False, True, True, False]),
            "optional_text": Nullable(strings["text"], [False, True, True, False, True]),
        }
    )


def part() -> Batch:
    return batch().take(slice(1, 4))


@pytest.fixture(params=[batch, part, lambda: batch().take(slice(0, 0))], ids=["whole", "slice", "empty"])
def data(request: pytest.FixtureRequest) -> Batch:
    return request.param()


def test_polars_has_the_same_values(data: Batch) -> None:
    assert pl.DataFrame(data).to_dicts() == data.to_list()


def test_polars_uses_the_same_memory() -> None:
    data = batch()
    frame = pl.DataFrame(data)

    def values_address(name: str) -> int:
        # Polars exports to Arrow what it has: the last buffer is that of the innermost values.
        return frame[name].to_arrow(compat_level=pl.CompatLevel.newest()).buffers()[-1].address

    for name in ("int", "double", "vector", "matrix", "optional"):
        column = data[name].values if isinstance(data[name], Nullable) else data[name]
        assert values_address(name) == column.ctypes.data
    assert values_address("ragged") == data["ragged"].values.ctypes.data
    assert values_address("deep") == data["deep"].values.values.ctypes.data


def test_polars_takes_strings_without_copying_their_bytes() -> None:
    text = batch()["text"]
    arrow = pl.Series(text).to_arrow(compat_level=pl.CompatLevel.newest())
    assert arrow.type == pa.string_view()
    _, views, *data = arrow.buffers()
    assert views.address == text.views.ctypes.data
    assert [buffer.address for buffer in data] == [buffer.ctypes.data for buffer in text.buffers]


def test_pandas_has_the_same_values(data: Batch) -> None:
    frame = pd.DataFrame.from_arrow(Batch({name: column for name, column in data.items() if name != "words"}))
    for name in ("int", "double", "flag"):
        assert frame[name].tolist() == data[name].tolist()
    for name in ("text", "blob"):
        assert frame[name].tolist() == data[name].to_list()
    assert [row.tolist() for row in frame["ragged"]] == data["ragged"].to_list()
    assert frame["optional"].isna().tolist() == (~data["optional"].valid).tolist()
    assert frame["optional_text"].dropna().tolist() == [v for v in data["optional_text"].to_list() if v is not None]


def test_pandas_takes_rows_of_text_once_they_are_cast(data: Batch) -> None:
    # pyarrow cannot convert lists of views to pandas.
    words = pa.array(data["words"]).cast(pa.large_list(pa.large_string())).to_pandas()
    assert [list(row) for row in words] == data["words"].to_list()


def test_duckdb_has_the_same_values(data: Batch) -> None:
    relation = duckdb.sql("SELECT * FROM data")
    rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    expected = data.to_list()
    for row in rows:  # DuckDB gives fixed-size arrays as tuples
        row["vector"] = list(row["vector"])
        row["matrix"] = [list(line) for line in row["matrix"]]
    assert rows == expected


def test_duckdb_computes_on_a_batch() -> None:
    data = batch()  # noqa: F841  named in the query
    assert duckdb.sql("SELECT sum(int), max(text), count(optional) FROM data").fetchall() == [(10, "ünï", 3)]


def test_bfloat16_becomes_float32() -> None:
    column = np.array([1.5, -2, 0.1], ml_dtypes.bfloat16)
    frame = pl.DataFrame(Batch({"x": column}))
    assert frame["x"].dtype == pl.Float32
    assert frame["x"].to_list() == column.astype(np.float32).tolist()


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
def test_frames_become_batches(frame: type) -> None:
    rows = {"a": [1, 2, 3], "s": ["x", LONG, ""], "f": [0.5, 1.5, 2.5], "b": [True, False, True]}
    read = from_arrow(frame(rows))
    assert isinstance(read["s"], BytesColumn)
    assert {name: [row[name] for row in read.to_list()] for name in rows} == rows
    assert [row for piece in batches_from_arrow(frame(rows)) for row in piece.to_list()] == read.to_list()


def test_a_polars_frame_survives_the_round_trip() -> None:
    frame = pl.DataFrame({"l": [["a", None], [], None], "n": [1, None, 3], "c": pl.Series(["u", "v", "u"])})
    assert pl.DataFrame(from_arrow(frame)).to_dicts() == frame.to_dicts()


def test_pandas_takes_a_dataset(tmp_path: Path):
    ps.write(tmp_path / "a", {"text": ["x", "y"], "number": [1, 2], "items": [["a"], []]})
    frame = pd.DataFrame.from_arrow(ps.Dataset(tmp_path / "a"))
    assert frame["text"].tolist() == ["x", "y"]
    assert [list(items) for items in frame["items"]] == [["a"], []]
