"""Datasets through Arrow tables and Parquet files, and back: the schema goes with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.codec.images import encode_image

PICTURE = encode_image(np.zeros((2, 3, 3), np.uint8), "png")
SHAPES = [(1, 4), (0, 4), (3, 4)]


def through_parquet(ds: ps.Dataset, path: Path) -> pa.Table:
    pq.write_table(ds.to_arrow(), path)
    return pq.read_table(path)


def written(path: Path, rows: list[dict[str, object]], schema: ps.Schema) -> ps.Dataset:
    ps.write(path, rows, schema=schema)
    return ps.Dataset(path)


def all_kinds() -> tuple[list[dict[str, object]], ps.Schema]:
    schema = ps.Schema(
        {
            "picture": ps.Feature("uint8", (None, None, 3), encoding="png", optional=True),
            "tensor": ps.Feature("float16", (None, 4), encoding="tensor"),
            "absent": ps.Feature("int32", (None, None), encoding="tensor", optional=True),
            "words": ps.Feature("str", (None,), encoding="tensor"),
            "narrow": ps.Feature("int16", (2,), key="stored"),
            "raw": ps.Feature("float64", (2, 2), encoding="raw"),
            "levels": ps.Feature("int64", (None, None)),
            "score": ps.Feature("float32", default=0.5),
        }
    )
    rows = [
        {
            "picture": PICTURE if i else None,
            "tensor": np.arange(np.prod(shape), dtype=np.float16).reshape(shape),
            "absent": np.ones((2, 1), np.int32) if i == 1 else None,
            "words": np.array(["a", "b"][:i], object),
            "narrow": [i, -i],
            "raw": np.full((2, 2), i / 3),
            "levels": [[i], [], [1, 2]][: i + 1],
            "score": i / 4,
        }
        for i, shape in enumerate(SHAPES)
    ]
    return rows, schema


def test_every_kind_of_feature_comes_back_as_it_was_stored(tmp_path: Path):
    ds = written(tmp_path / "kinds", *all_kinds())
    ps.write(tmp_path / "back", through_parquet(ds, tmp_path / "x.parquet"))
    ps.write(tmp_path / "streamed", pa.RecordBatchReader.from_stream(ds))
    for name in ("back", "streamed"):
        back = ps.Dataset(tmp_path / name)
        assert back.schema == ds.schema
        assert back.records(range(3)) == ds.records(range(3))


def test_tensors_of_unequal_shapes_are_lists_of_lists(tmp_path: Path):
    ds = written(tmp_path / "kinds", *all_kinds())
    table = ds.to_arrow()
    assert table["tensor"].to_pylist() == [row["tensor"].tolist() for row in ds]
    assert table["absent"].to_pylist() == [None, [[1], [1]], None]
    assert table["words"].to_pylist() == [[], ["a"], ["a", "b"]]


def test_sequences_come_back_as_sequences(tmp_path: Path):
    schema = ps.Schema({"id": str}, sequence={"x": ps.Feature("float32", (2,)), "w": ps.Feature("str", (None,))})
    rows = [{"id": str(i), "x": np.ones((i, 2), np.float32), "w": [["a"] * j for j in range(i)]} for i in range(4)]
    ds = written(tmp_path / "clips", rows, schema)
    ps.write(tmp_path / "back", through_parquet(ds, tmp_path / "x.parquet"))
    back = ps.Dataset(tmp_path / "back")
    assert back.schema == schema
    assert back.records(range(4)) == ds.records(range(4))


def test_some_columns_bring_their_part_of_the_schema(tmp_path: Path):
    ds = written(tmp_path / "kinds", *all_kinds())
    ps.write(tmp_path / "some", ds.to_arrow().select(["narrow", "picture"]))
    assert ps.Dataset(tmp_path / "some").schema == ds.schema.select(["narrow", "picture"])


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.append_column("new", [[1, 2, 3]]),
        lambda table: table.set_column(0, "x", table["x"].cast(pa.int64())),
        lambda table: table.set_column(0, "x", pa.chunked_array([pa.array([1, None, 3], pa.int16())])),
    ],
    ids=["another column", "another type", "absent values"],
)
def test_a_table_that_was_changed_is_read_by_its_columns(tmp_path: Path, change):
    ds = written(tmp_path / "x", [{"x": i} for i in range(3)], ps.Schema({"x": "int16"}))
    table = change(ds.to_arrow())
    ps.write(tmp_path / "back", table)
    back = ps.Dataset(tmp_path / "back")
    assert back.to_arrow().to_pylist() == table.to_pylist()
    assert back.schema != ds.schema


def test_lists_that_are_no_array_raise(tmp_path: Path):
    schema = ps.Schema({"t": ps.Feature("int64", (None, None), encoding="tensor")})
    with pytest.raises(ps.SchemaError, match="found lists of different lengths: row 1"):
        ps.write(tmp_path / "x", pa.table({"t": [[[1]], [[1], [2, 3]]]}), schema=schema)
