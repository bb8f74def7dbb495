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
