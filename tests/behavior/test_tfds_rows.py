"""Rows of folders that TFDS wrote are nested, and their columns flat, wherever rows and batches go."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.codec.images import encode_image

FEATURES = {
    "id": {"tensor": {"dtype": "int64"}},
    "meta": {"featuresDict": {"features": {"name": {"text": {}}}}},
    "steps": {
        "sequence": {
            "feature": {
                "featuresDict": {
                    "features": {
                        "observation": {
                            "featuresDict": {"features": {"image": {"image": {"shape": {"dimensions": [2, 2, 1]}}}}}
                        },
                        "reward": {"tensor": {"dtype": "float32"}},
                    }
                }
            }
        }
    },
}
ROWS = 12


def pixels(row: int, step: int) -> np.ndarray[Any, Any]:
    return np.full((2, 2, 1), 10 * row + step, np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("robot")
    (folder / "features.json").write_text(json.dumps({"featuresDict": {"features": FEATURES}}))
    info = {"name": "robot", "splits": [{"name": "train", "shardLengths": [5, ROWS - 5]}]}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    schema = ps.Schema(
        {
            "id": int,
            "meta/name": str,
            "steps/observation/image": ps.Feature("bytes", (None,)),
            "steps/reward": ps.Feature("float32", (None,)),
        }
    )
    for shard, ids in enumerate((range(5), range(5, ROWS))):
        columns = {
            "id": list(ids),
            "meta/name": [f"n{row}" for row in ids],
            "steps/observation/image": [[encode_image(pixels(r, s), "png") for s in range(r % 3)] for r in ids],
            "steps/reward": [np.arange(row % 3, dtype=np.float32) for row in ids],
        }
        with ps.RecordWriter(folder / f"robot-train.tfrecord-0000{shard}-of-00002") as writer:
            for record in ps.Encoder(schema).encode(columns):
                writer.write(record)
    return folder


@pytest.fixture
def ds(folder: Path) -> ps.Dataset[dict[str, Any]]:
    return ps.Dataset(folder)


def check(row: dict[str, Any]) -> int:
    number = int(row["id"])
    assert row.keys() == {"id", "meta", "steps"}
    assert row["meta"] == {"name": f"n{number}"}
    assert row["steps"]["reward"].tolist() == list(range(number % 3))
    assert row["steps"]["observation"]["image"].tolist() == [pixels(number, s).tolist() for s in range(number % 3)]
    return number


def test_rows_are_nested_on_every_way(ds: ps.Dataset[dict[str, Any]]):
    assert [check(row) for row in ds] == list(range(ROWS))
    assert [check(ds[number]) for number in range(ROWS)] == list(range(ROWS))
    assert sorted(check(row) for row in ds.shuffle(seed=1)) == list(range(ROWS))
    assert [check(row) for row in ds[[3, 1]].rows()] == [3, 1]
    assert [check(row) for row in ds.batch(5).unbatch()] == list(range(ROWS))
    assert [check(row) for row in pickle.loads(pickle.dumps(ds.skip(9)))] == [9, 10, 11]
    assert [check(row) for row in ds.filter(lambda row: row["meta"]["name"] == "n4")] == [4]
    assert [check(row) for row in ds.take(2).concat(ds.skip(10))] == [0, 1, 10, 11]
    assert [check(row) for row in ds.cache()] == list(range(ROWS))
    assert list(ds.map(check)) == list(range(ROWS))


def test_columns_are_flat(ds: ps.Dataset[dict[str, Any]]):
    batch = next(iter(ds.batch(4)))
    assert batch.column_names == ds.column_names == ["id", "meta/name", "steps/observation/image", "steps/reward"]
    assert batch["steps/observation/image"].values.shape == (3, 2, 2, 1)
    assert [check(row) for row in batch.rows()] == [0, 1, 2, 3]
    assert check(batch.row(2)) == 2
    assert check(pickle.loads(pickle.dumps(batch)).row(1)) == 1
    selected = ds.select_columns(["steps/reward"])
    assert selected[2]["steps"]["reward"].tolist() == [0, 1]
    assert selected[2].keys() == {"steps"}


def test_a_function_gets_nested_rows_and_its_nested_results_are_flat_columns(ds: ps.Dataset[dict[str, Any]]):
    doubled = ds.map(lambda row: row | {"steps": {"reward": row["steps"]["reward"] * 2}})
    assert doubled[5]["steps"]["reward"].tolist() == [0, 2]
    assert next(iter(doubled.batch(6)))["steps/reward"].to_list()[5] == [0, 2]


def test_a_copy_holds_what_was_stored(ds: ps.Dataset[dict[str, Any]], tmp_path: Path):
    ps.write(tmp_path / "copy", ds.skip(2))
    copy = ps.Dataset(tmp_path / "copy")
    stored = ps.Dataset(ds.files, schema=copy.schema)
    assert copy.schema["steps/observation/image"] == ps.Feature("bytes", (None,))
    assert copy[3]["steps/observation/image"] == stored[5]["steps/observation/image"]


def test_other_names_read_the_same_values(ds: ps.Dataset[dict[str, Any]]):
    renamed = ds.rename_columns({"steps/observation/image": "camera"})
    assert renamed[5]["camera"].tolist() == ds[5]["steps"]["observation"]["image"].tolist()
