"""Datasets of torch and of Hugging Face become shards with a schema, and come back as they were."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

import penstock as ps


class Rows(Dataset):
    """Map-style, without ``__iter__`` and without an IndexError at its end."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, position: int) -> Any:
        picture = Image.fromarray(np.full((3, 3), position, np.uint8))
        return {"picture": picture, "tokens": torch.arange(position), "name": f"n{position}"}


class Stream(IterableDataset):
    def __iter__(self) -> Any:
        return ((torch.full((2,), n / 2), n) for n in range(10))


def written(path: Path, source: Any, **options: Any) -> ps.Dataset:
    ps.write(path / "data", source, shards=2, **options)
    return ps.Dataset(path / "data")


def by_label(found: ps.Dataset, label: str) -> list[dict[str, Any]]:
    (batch,) = found.batch(1000)
    return sorted(batch.to_list(), key=lambda row: row[label])


def test_a_map_style_dataset(tmp_path: Path):
    found = written(tmp_path, Rows())
    assert found.schema["picture"].shape == (3, 3)
    assert found.schema["tokens"] == ps.Feature("int64", (None,))
    rows = by_label(found, "name")
    assert [row["tokens"] for row in rows] == [list(range(n)) for n in range(10)]
    assert rows[7]["picture"] == np.full((3, 3), 7).tolist()


def test_an_iterable_dataset_of_tuples(tmp_path: Path):
    found = written(tmp_path, Stream())
    assert dict(found.schema) == {"0": ps.Feature("float32", (2,)), "1": ps.Feature("int64")}
    assert by_label(found, "1")[5] == {"0": [2.5, 2.5], "1": 5}


@pytest.mark.parametrize("batch_size", [4, None])
def test_a_loader_is_written_row_by_row(tmp_path: Path, batch_size: int | None):
    pairs = TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))
    found = written(tmp_path, DataLoader(pairs, batch_size=batch_size))
    assert len(found) == 10
    assert by_label(found, "1")[9] == {"0": [18.0, 19.0], "1": 9}


def test_a_loader_with_strings_and_ragged_rows(tmp_path: Path):
    def collate(rows: list[Any]) -> Any:
        tokens = torch.nested.nested_tensor([row["tokens"] for row in rows], layout=torch.jagged)
        return {"tokens": tokens, "name": [row["name"] for row in rows]}

    found = written(tmp_path, DataLoader(Rows(), batch_size=3, collate_fn=collate))
    assert by_label(found, "name")[4] == {"tokens": [0, 1, 2, 3], "name": "n4"}


def test_a_hugging_face_dataset(tmp_path: Path):
    source = datasets.Dataset.from_dict(
        {"text": [f"row {n}" for n in range(10)], "label": list(range(10)), "ids": [list(range(n)) for n in range(10)]},
        features=datasets.Features(
            {
                "text": datasets.Value("string"),
                "label": datasets.ClassLabel(names=[f"class {n}" for n in range(10)]),
                "ids": datasets.List(datasets.Value("int32")),
            }
        ),
    )
    found = written(tmp_path, source.shuffle(seed=1))
    assert [row["ids"] for row in by_label(found, "label")] == [list(range(n)) for n in range(10)]
    assert by_label(found, "label")[3]["text"] == "row 3"
    streamed = written(tmp_path / "streamed", source.to_iterable_dataset())
    assert by_label(streamed, "label") == by_label(found, "label")


def encoded(kind: str, color: int, mode: str = "RGB", size: tuple[int, int] = (8, 6)) -> bytes:
    file = io.BytesIO()
    Image.new(mode, size, color if mode == "I;16" else (color,) * len(mode)).save(file, kind)
    return file.getvalue()


def pictures(column: list[Any], **columns: Any) -> datasets.Dataset:
    features = {"image": datasets.Image(), "label": datasets.ClassLabel(num_classes=2000)}
    features |= {name: datasets.List(datasets.Image()) for name in columns}
    rows = {"image": column, "label": list(range(len(column))), **columns}
    return datasets.Dataset.from_dict(rows, features=datasets.Features(features))


def stored(found: ps.Dataset, name: str = "image") -> list[Any]:
    """The bytes of a column, as they are in the records."""
    kept = ps.Schema({name: ps.Feature("bytes", found.schema[name].shape if name == "pages" else (), optional=True)})
    rows = ps.Dataset(found.files, schema=ps.Schema({**kept, "label": int}))
    return [row[name] for row in by_label(rows, "label")]


PNG = [encoded("PNG", n) for n in range(3)]
JPEG = [encoded("JPEG", n) for n in range(3)]


@pytest.mark.parametrize(
    ("files", "feature"),
    [
        (PNG, ps.Feature("uint8", (6, 8, 3), encoding="png")),
        ([*PNG, encoded("PNG", 1, size=(3, 3))], ps.Feature("uint8", (None, None, 3), encoding="png")),
        ([encoded("PNG", 500, "I;16")], ps.Feature("uint16", (6, 8, 1), encoding="png")),
        (JPEG, ps.Feature("uint8", (None, None, None), encoding="jpeg")),
        ([*JPEG, encoded("JPEG", 9, "CMYK")], ps.Feature("uint8", (None, None, None), encoding="jpeg")),
        ([*PNG, *JPEG], ps.Feature("uint8", (None, None, None), encoding="image")),
        ([*PNG, encoded("WEBP", 9)], ps.Feature("uint8", (None, None, None), encoding="image")),
        ([*PNG, None], ps.Feature("uint8", (6, 8, 3), encoding="png", optional=True)),
    ],
)
def test_hugging_face_pictures_are_copied(tmp_path: Path, files: list[Any], feature: ps.Feature):
    source = pictures([file and {"bytes": file, "path": None} for file in files])
    found = written(tmp_path, source)
    assert found.schema["image"] == feature
    assert stored(found) == files
    expected = np.asarray(source[0]["image"])
    assert np.array_equal(np.squeeze(found[0]["image"]), expected)
    streamed = written(tmp_path / "streamed", source.to_iterable_dataset())
    assert streamed.schema["image"].encoding == "image"
    assert stored(streamed) == files


def test_hugging_face_pictures_that_are_files_are_read(tmp_path: Path):
    for number, file in enumerate(JPEG):
        (tmp_path / f"{number}.jpg").write_bytes(file)
    source = pictures([str(tmp_path / f"{number}.jpg") for number in range(3)])
    found = written(tmp_path, source.shuffle(seed=1))
    assert found.schema["image"].encoding == "jpeg"
    assert stored(found) == stored(written(tmp_path / "streamed", source.to_iterable_dataset())) == JPEG


def test_a_late_picture_of_another_kind(tmp_path: Path):
    files = [*JPEG * 200, PNG[0]]
    found = written(tmp_path, pictures([{"bytes": file, "path": None} for file in files]))
    assert found.schema["image"].encoding == "image"
    assert stored(found) == files


def test_pictures_are_shuffled_across_many(tmp_path: Path):
    source = pictures([{"bytes": file, "path": None} for file in JPEG * 200])
    ps.write(tmp_path / "data", source, shuffle=1)
    labels = [int(label) for label in ps.Dataset(tmp_path / "data", columns=["label"]).batch(1000)[0]["label"]]
    assert sorted(labels) == list(range(600))
    assert max(labels[:100]) > 500 > 100 > min(labels[-100:])


def test_lists_of_hugging_face_pictures_are_bytes(tmp_path: Path):
    lists = [[PNG[0], JPEG[1]], [], [PNG[2]]]
    pages = [[{"bytes": file, "path": None} for file in files] for files in lists]
    source = pictures([{"bytes": file, "path": None} for file in PNG], pages=pages)
    for name, data in {
        "whole": source,
        "part": source.select([0, 1, 2]),
        "streamed": source.to_iterable_dataset(),
    }.items():
        found = written(tmp_path / name, data)
        assert found.schema["pages"] == ps.Feature("bytes", (None,))
        assert stored(found, "pages") == lists


def test_hugging_face_pictures_are_decoded_where_pixels_are_asked_for(tmp_path: Path):
    source = pictures([{"bytes": file, "path": None} for file in PNG])
    schema = ps.Schema({"image": ps.Feature("uint8", (6, 8, 3), encoding="raw"), "label": int})
    found = written(tmp_path, source, schema=schema)
    assert by_label(found, "label")[2]["image"] == np.full((6, 8, 3), 2).tolist()
    mapped = written(tmp_path / "mapped", source, map=lambda row: {**row, "image": row["image"][:2, :2]})
    assert mapped.schema["image"].shape == (2, 2, 3)
