"""Data frames and tensors are written as they are: the same values come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import penstock as ps


def written(folder: Path, data: Any, **options: Any) -> tuple[ps.Schema, list[dict[str, Any]]]:
    manifest = ps.write(folder / "data", data, **options)
    records = [record for shard in manifest.shards for record in ps.RecordReader(folder / shard.name)]
    return manifest.schema, ps.Decoder(manifest.schema).decode(records).to_list()


PANDAS = pd.DataFrame(
    {
        "number": [1, 2, 3],
        "text": ["x", "y", None],
        "float": np.array([1, np.nan, 2], np.float32),
        "category": pd.Categorical(["u", "v", "u"]),
        "maybe": pd.array([1, None, 3], dtype="Int64"),
        "items": [[1], [2, 3], []],
    },
    index=[5, 6, 7],
)


def test_pandas(tmp_path: Path):
    schema, rows = written(tmp_path, PANDAS)
    assert schema == ps.Schema(
        {
            "number": int,
            "text": ps.Feature("str", optional=True),
            "float": float,
            "category": ps.Feature("int8", names=["u", "v"], logical="dictionary"),
            "maybe": ps.Feature("int64", optional=True),
            "items": ps.Feature("int64", (None,)),
        }
    )
    assert [row["text"] for row in rows] == ["x", "y", None]
    assert np.isnan(rows[1]["float"])  # NaN is a value, not an absent one
    assert [row["maybe"] for row in rows] == [1, None, 3]
    assert [row["items"] for row in rows] == [[1], [2, 3], []]


def test_pandas_float64_asks(tmp_path: Path):
    with pytest.raises(ps.SchemaError, match='choose "float32"'):
        ps.write(tmp_path / "data", pd.DataFrame({"x": [0.5]}))


@pytest.mark.parametrize("options", [{}, {"shuffle": 7, "shards": 2}])
def test_polars(tmp_path: Path, options: dict[str, Any]):
    types = {"number": pl.Int32, "text": pl.String, "items": pl.List(pl.Float32)}
    rows = [
        {"number": 1, "text": "x", "items": [1.0]},
        {"number": 2, "text": "y" * 30, "items": [2.0, 3.0]},
        {"number": None, "text": "", "items": []},
    ]
    schema, found = written(tmp_path, pl.DataFrame(rows, schema=types), **options)
    assert schema["number"] == ps.Feature("int32", optional=True)
    assert sorted(found, key=lambda row: row["number"] or 9) == rows


def tensors(kind: str) -> dict[str, Any]:
    if kind == "torch":
        return {
            "matrix": torch.arange(12).reshape(3, 2, 2).transpose(1, 2),
            "half": torch.tensor([0.5, 1, 2], dtype=torch.bfloat16),
            "weight": torch.ones(3, requires_grad=True),
        }
    return {
        "matrix": jnp.arange(12).reshape(3, 2, 2).transpose(0, 2, 1),
        "half": jnp.array([0.5, 1, 2], jnp.bfloat16),
        "weight": jnp.ones(3),
    }


@pytest.mark.parametrize("kind", ["torch", "jax"])
def test_tensors(tmp_path: Path, kind: str):
    columns = tensors(kind)
    schema, rows = written(tmp_path / "columns", columns)
    assert schema["half"] == ps.Feature("bfloat16")
    assert [row["matrix"] for row in rows] == np.arange(12).reshape(3, 2, 2).transpose(0, 2, 1).tolist()
    assert [row["half"] for row in rows] == [0.5, 1, 2]
    for name, source in {"list": list, "stream": iter}.items():
        by_row = [{key: column[i] for key, column in columns.items()} for i in range(3)]
        assert written(tmp_path / name, source(by_row)) == (schema, rows)
