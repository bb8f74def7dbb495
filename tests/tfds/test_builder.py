import json
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

STEPS = {
    "pythonClassName": "tensorflow_datasets.core.features.dataset_feature.Dataset",
    "sequence": {
        "feature": {
            "featuresDict": {
                "features": {
                    "reward": {"tensor": {"dtype": "float32"}},
                    "o": {"featuresDict": {"features": {"state": {"tensor": {"dtype": "int32"}}}}},
                }
            }
        }
    },
}
FEATURES = {"id": {"tensor": {"dtype": "int64"}}, "task": {"text": {}}, "steps": STEPS}


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    schema = ps.Schema.from_tfds(json.dumps({"featuresDict": {"features": FEATURES}}))
    rows = [
        {"id": n, "task": f"task {n}", "steps": [{"reward": s, "o": {"state": n}} for s in range(n + 1)]}
        for n in range(5)
    ]
    folder = Path(ps.tfds.write(tmp_path / "robot" / "1.2.0", {"train": rows, "test": rows[:2]}, schema=schema).path)
    info = json.loads((folder / "dataset_info.json").read_text())
    info["supervisedKeys"] = {"tuple": {"items": [{"featureKey": "task"}, {"featureKey": "id"}]}}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    return tmp_path


def test_a_data_source_has_the_rows_of_tfds(data_dir: Path):
    source = ps.tfds.data_source("robot", split="train[1:]", data_dir=data_dir)
    assert len(source) == 4
    row = source[1]
    assert (row["id"], row["task"]) == (2, b"task 2")
    assert type(row["id"]) is int
    assert [step["reward"] for step in row["steps"]] == [0, 1, 2]
    assert row["steps"][-1] == {"reward": 2, "o": {"state": 2}}
    assert len(row["steps"][:2]) == 2
    with pytest.raises(IndexError):
        row["steps"][3]
    assert [found["id"] for found in source.__getitems__([3, 0])] == [4, 1]
    assert source.__getitems__([]) == []
    assert [found["id"] for found in source] == [1, 2, 3, 4]
    assert ps.tfds.data_source("robot", data_dir=data_dir).keys() == {"train", "test"}


def test_load_opens_by_name(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(data_dir))
    ds, info = ps.tfds.load("robot:1.2.0", split="test", with_info=True)
    rows = list(ps.tfds.as_numpy(ds))
    assert [row["task"] for row in rows] == [b"task 0", b"task 1"]
    assert isinstance(rows[0]["id"], np.int64)
    assert [step["o"]["state"] for step in rows[1]["steps"]] == [1, 1]
    assert (info.name, info.version, info.splits["train"].num_examples, info.splits["train"].num_shards) == (
        "robot",
        "1.2.0",
        5,
        1,
    )
    assert list(ps.tfds.load("robot", split="train[:1]", as_supervised=True)) == [(b"task 0", 0)]
    assert {name: len(found) for name, found in ps.tfds.load("robot").items()} == {"train": 5, "test": 2}
    shuffled = ps.tfds.load("robot", split="train", shuffle_files=True)
    assert sorted(int(row["id"]) for row in shuffled) == list(range(5))
    for name in ("missing", "robot:9.9.9"):
        with pytest.raises(FileNotFoundError):
            ps.tfds.load(name)
    with pytest.raises(ValueError, match="not the name of a dataset"):
        ps.tfds.load("../robot")


def test_a_batch_has_flat_columns(data_dir: Path):
    (data_dir / "robot/1.2.0/features.json").write_text(
        json.dumps({"featuresDict": {"features": {"id": {"tensor": {"dtype": "int64"}}}}})
    )
    batches = list(ps.tfds.load("robot", split="train", data_dir=data_dir, batch_size=3))
    assert [batch["id"].tolist() for batch in batches] == [[0, 1, 2], [3, 4]]


def test_without_features_there_is_nothing_to_decode_by(data_dir: Path):
    (data_dir / "robot/1.2.0/features.json").unlink()
    with pytest.raises(FileNotFoundError, match="TFDS before version 4"):
        ps.tfds.load("robot", split="train", data_dir=data_dir)
