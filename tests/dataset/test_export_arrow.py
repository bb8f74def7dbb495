"""Exports to Arrow, and copies by ``ps.write``, which do not decode images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock.codec.images import encode_image

SCHEMA = ps.Schema(
    {
        "image": ps.Feature("uint8", (None, None, 3), encoding="jpeg"),
        "label": ps.Feature("int32"),
        "tokens": ps.Feature("int64", (None,), key="words"),
        "note": ps.Feature(str, optional=True),
    }
)


@pytest.fixture
def images(tmp_path: Path) -> ps.Dataset:
    """Ten rows; the picture of row i is i + 1 pixels wide."""
    pixels = np.random.default_rng(7).integers(0, 255, (4, 10, 3)).astype(np.uint8)
    rows = [
        {
            "image": encode_image(pixels[:, : i + 1], "jpeg"),
            "label": i,
            "tokens": list(range(i % 3)),
            "note": "even" if i % 2 == 0 else None,
        }
        for i in range(10)
    ]
    ps.write(tmp_path / "images", rows, schema=SCHEMA, shards=2)
    return ps.Dataset(tmp_path / "images")


def records_of(ds: ps.Dataset) -> list[bytes]:
    return [ds.record(i) for i in range(len(ds))]


def test_images_in_a_table_stay_encoded(images: ps.Dataset):
    table = images.to_arrow()
    assert table.column_names == list(SCHEMA)
    assert table["label"].to_pylist() == list(range(10))
    assert table["note"].to_pylist() == ["even", None] * 5
    assert table["tokens"].to_pylist() == [list(range(i % 3)) for i in range(10)]
    assert all(image.startswith(b"\xff\xd8\xff") for image in table["image"].to_pylist())


def test_text_in_a_table_can_be_compared(images: ps.Dataset):
    table = images.to_arrow()
    assert table.filter(pc.equal(table["note"], "even"))["label"].to_pylist() == [0, 2, 4, 6, 8]
    assert table.sort_by("note")["label"].to_pylist()[:5] == [0, 2, 4, 6, 8]
    assert images.take(0).to_arrow().schema.names == table.schema.names


def test_lists_of_text_have_types_that_pandas_supports(tmp_path: Path):
    ps.write(tmp_path / "tags", {"tags": [["a", "b"], []], "pair": np.array([["x", "y"], ["z", "w"]])})
    schema = ps.Dataset(tmp_path / "tags").to_arrow().schema
    assert schema.types == [pa.large_list(pa.large_string()), pa.list_(pa.large_string(), 2)]


def test_a_dataset_exports_an_arrow_stream(images: ps.Dataset):
    assert pa.table(images.shuffle(seed=1).take(4))["label"].to_pylist() == [
        row["label"] for row in images.shuffle(seed=1).take(4)
    ]
    assert pa.table(images.batch(3))["label"].to_pylist() == list(range(10))
    assert pa.table(images.map(lambda row: {"double": 2 * row["label"]}))["double"].to_pylist() == list(range(0, 20, 2))
    assert pa.table(images.filter(lambda row: False)).num_rows == 0


def test_tuples_cannot_become_a_table(images: ps.Dataset):
    with pytest.raises(TypeError, match=r"named columns: map\(\) elements of type tuple to dicts"):
        images.map(lambda row: (row["label"], 1)).to_arrow()


def test_a_copy_has_the_same_records_and_the_same_schema(images: ps.Dataset, tmp_path: Path):
    ps.write(tmp_path / "copy", images, shards=3)
    copy = ps.Dataset(tmp_path / "copy")
    assert copy.schema == images.schema
    assert sorted(records_of(copy)) == sorted(records_of(images))


def test_a_part_has_the_same_records(images: ps.Dataset, tmp_path: Path):
    ps.write(tmp_path / "part", images.shuffle(seed=1).batch(4).unbatch().skip(1).take(3))
    part = ps.Dataset(tmp_path / "part")
    assert part.schema == SCHEMA
    assert records_of(part) == images.records([row["label"] for row in images.shuffle(seed=1).take(4)])[1:]


@pytest.mark.parametrize("batched", [False, True])
def test_filters_get_pixels_and_records_are_not_re_encoded(images: ps.Dataset, tmp_path: Path, batched: bool):
    if batched:
        chosen = images.batch(1).filter(lambda batch: batch["image"][0].shape[1] % 2 == 0)
    else:
        chosen = images.filter(lambda row: row["image"].shape[1] % 2 == 0)
    ps.write(tmp_path / "chosen", chosen)
    assert records_of(ps.Dataset(tmp_path / "chosen")) == images.records([1, 3, 5, 7, 9])


def test_selected_columns_are_copied(images: ps.Dataset, tmp_path: Path):
    ps.write(tmp_path / "some", images.select_columns(["image", "label"]))
    assert ps.Dataset(tmp_path / "some").schema == SCHEMA.select(["image", "label"])


def test_sequences_stay_sequences(tmp_path: Path):
    schema = ps.Schema({"id": str}, sequence={"x": ps.Feature("float32", (2,))})
    ps.write(tmp_path / "clips", [{"id": "a", "x": np.ones((3, 2), np.float32)}], schema=schema)
    ps.write(tmp_path / "copy", ps.Dataset(tmp_path / "clips"))
    assert ps.Dataset(tmp_path / "copy").schema == schema


def test_data_frames_have_the_values_that_are_stored(tmp_path: Path):
    schema = ps.Schema(
        {
            "id": int,
            "big": ps.Feature(int, optional=True),
            "seen": ps.Feature(bool, optional=True),
            "score": ps.Feature("float32", optional=True),
            "name": str,
            "tokens": ps.Feature(int, (None,)),
        }
    )
    rows = [
        {"id": 1, "big": 2**53 + 1, "seen": True, "score": 0.5, "name": "a", "tokens": [1, 2]},
        {"id": 2, "big": None, "seen": None, "score": None, "name": "b" * 20, "tokens": []},
    ]
    ps.write(tmp_path / "a", rows, schema=schema)
    ds = ps.Dataset(tmp_path / "a")
    frame = ds.to_pandas()
    assert list(frame.columns) == list(schema)
    assert frame["id"].dtype == np.int64
    assert frame["big"].tolist()[0] == 2**53 + 1
    assert frame[["big", "seen"]].isna()[1:].all(axis=None)
    assert str(frame["seen"].dtype) == "boolean"
    assert frame["name"].tolist() == ["a", "b" * 20]
    assert frame["tokens"][0].tolist() == [1, 2]
    assert ds.to_polars().to_dicts() == rows
    assert ds.filter("id == 2").rename_columns({"id": "key"}).to_polars()["key"].to_list() == [2]
