"""A data set is written as it is read: its rows in their order, through what stands in its pipeline."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import penstock as ps


def test_rows_batches_and_functions(tmp_path: Path):
    columns = {"x": np.arange(3000), "tokens": [list(range(n % 3)) for n in range(3000)]}
    ps.write(tmp_path / "all", columns, shards=3)
    dataset = ps.Dataset(tmp_path / "all")
    even = dataset.filter(lambda row: row["x"] % 2 == 0)
    assert ps.write(tmp_path / "rows", even).schema == dataset.schema
    ps.write(tmp_path / "batches", dataset.batch(100).map(lambda batch: batch | {"x": -batch["x"]}))
    assert [row["x"] for row in ps.Dataset(tmp_path / "rows")] == list(range(0, 3000, 2))
    assert [row["x"] for row in ps.Dataset(tmp_path / "batches")] == list(range(0, -3000, -1))
    assert ps.Dataset(tmp_path / "batches")[5]["tokens"].tolist() == [0, 1]


def test_rows_of_a_function_are_written_as_a_list_of_them_is(tmp_path: Path):
    ps.write(tmp_path / "from", {"x": np.arange(5)})
    rows = ps.Dataset(tmp_path / "from").map(lambda row: {"half": float(row["x"]) / 2, "ones": [1] * int(row["x"])})
    written = ps.write(tmp_path / "to", rows)
    assert written.schema == ps.write(tmp_path / "list", list(rows)).schema
    assert written.schema["half"] == ps.Feature("float32")  # as TensorFlow takes the floats of Python
    assert [row["ones"].tolist() for row in ps.Dataset(tmp_path / "to")] == [[1] * n for n in range(5)]
    nested = ps.Dataset(tmp_path / "from").map(lambda row: {"pair": {"a": row["x"], "b": "text"}})
    assert list(ps.write(tmp_path / "nested", nested).schema) == ["pair/a", "pair/b"]
