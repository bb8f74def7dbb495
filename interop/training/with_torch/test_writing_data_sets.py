"""Data sets of torch and of Hugging Face become shards with a schema, and come back as they were."""

from __future__ import annotations

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


def test_a_map_style_data_set(tmp_path: Path):
    found = written(tmp_path, Rows())
    assert found.schema["picture"].shape == (3, 3)
    assert found.schema["tokens"] == ps.Feature("int64", (None,))
    rows = by_label(found, "name")
    assert [row["tokens"] for row in rows] == [list(range(n)) for n in range(10)]
    assert rows[7]["picture"] == np.full((3, 3), 7).tolist()


def test_an_iterable_data_set_of_tuples(tmp_path: Path):
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


def test_a_hugging_face_data_set(tmp_path: Path):
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


def test_hugging_face_pictures_are_decoded(tmp_path: Path):
    pictures = [Image.fromarray(np.full((4, 4, 3), n, np.uint8)) for n in range(3)]
    source = datasets.Dataset.from_dict(
        {"image": pictures, "label": [0, 1, 2]},
        features=datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")}),
    )
    found = written(tmp_path, source)
    assert found.schema["image"].shape == (4, 4, 3)
    assert by_label(found, "label")[2]["image"] == np.full((4, 4, 3), 2).tolist()
