"""What webdataset and Hugging Face wrote is converted, and they, pandas and Polars read what was written."""

from __future__ import annotations

import io
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pytest
import webdataset
from PIL import Image

import penstock as ps


def picture(value: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((3, 4, 3), value, np.uint8)).save(file, "jpeg")
    return file.getvalue()


def stored(path: Path, name: str) -> list[bytes]:
    return [row[name] for row in ps.Dataset(path, schema=ps.Schema({name: bytes}))]


def test_tars_of_webdataset(tmp_path: Path):
    with webdataset.TarWriter(str(tmp_path / "a.tar")) as sink:
        for i in range(5):
            sink.write({"__key__": f"s{i}", "jpg": picture(i), "cls": i, "json": {"i": i}, "txt": f"text {i}"})
    ps.convert(tmp_path / "a.tar", tmp_path / "a")
    assert stored(tmp_path / "a", "jpg") == [picture(i) for i in range(5)]
    found = ps.Dataset(tmp_path / "a", columns=["__key__", "cls", "json", "txt"])
    assert [(row["__key__"], int(row["cls"]), row["txt"]) for row in found] == [
        (f"s{i}", i, f"text {i}") for i in range(5)
    ]


@pytest.mark.parametrize("form", ["folder", "parquet"])
def test_datasets_of_hugging_face(tmp_path: Path, form: str):
    images = [{"bytes": picture(i), "path": None} for i in range(4)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])})
    made = datasets.Dataset.from_dict({"image": images, "label": [0, 1, 1, 0]}, features=features)
    source = tmp_path / ("saved" if form == "folder" else "a.parquet")
    if form == "folder":
        made.save_to_disk(str(source))
    else:
        made.to_parquet(str(source))
    ps.convert(source, tmp_path / "a")
    assert stored(tmp_path / "a", "image") == [image["bytes"] for image in images]
    assert ps.Dataset(tmp_path / "a").schema["label"].names == ("cat", "dog")
    ps.write(tmp_path / "b", made)
    assert ps.Dataset(tmp_path / "b").schema["label"].names == ("cat", "dog")
    assert ps.Dataset(tmp_path / "b").batch(4)[0]["label"].tolist() == [0, 1, 1, 0]


def test_others_read_the_parquet_of_a_dataset(tmp_path: Path):
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime(["2020-01-01", None]).tz_localize("Europe/Berlin"),
            "kind": pd.Categorical(["a", "b"]),
            "text": ["x", None],
        }
    )
    ps.write(tmp_path / "a", frame)
    ps.convert(tmp_path / "a", tmp_path / "a.parquet")
    found = pd.read_parquet(tmp_path / "a.parquet")
    assert found["when"].tolist()[0] == frame["when"].tolist()[0]
    assert found["when"].isna().tolist() == [False, True]
    assert found["kind"].tolist() == ["a", "b"]
    assert str(found["kind"].dtype) == "category"
    assert pl.read_parquet(tmp_path / "a.parquet")["text"].to_list() == ["x", None]
    loaded = datasets.Dataset.from_parquet(str(tmp_path / "a.parquet"))
    assert loaded["text"][:] == ["x", None]


def test_frames_come_back_with_their_types(tmp_path: Path):
    frame = pl.DataFrame(
        {
            "kind": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
            "nested": [{"x": 1, "y": [1, 2]}, {"x": None, "y": []}, None],
            "when": pl.Series([1, None, 3]).cast(pl.Datetime("us", "UTC")),
            "lasts": pl.Series([1, None, 3]).cast(pl.Duration("ms")),
            "price": pl.Series(["1.50", None, "2.25"]).str.to_decimal(scale=2),
        }
    )
    ps.write(tmp_path / "a", frame)
    back = pl.DataFrame(ps.Dataset(tmp_path / "a"))
    assert back.to_dicts() == frame.to_dicts()
    assert back.schema == frame.schema
