"""Folders for TFDS; interop/tfds lets TFDS read them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tfds_directories import write_directory

import penstock as ps
from penstock.codec.images import encode_image
from penstock.errors import SchemaError

EPISODE = {
    "pythonClassName": "tensorflow_datasets.core.features.dataset_feature.Dataset",
    "sequence": {
        "feature": {
            "featuresDict": {
                "features": {
                    "image": {"image": {"shape": {"dimensions": [2, 2, 1]}}},
                    "packed": {"tensor": {"shape": {"dimensions": [3]}, "dtype": "float32", "encoding": "zlib"}},
                    "depth": {"image": {"shape": {"dimensions": [2, 2, 1]}, "dtype": "float32"}},
                    "any": {"tensor": {"shape": {"dimensions": [-1, -1]}, "dtype": "uint8", "encoding": "bytes"}},
                    "big": {"tensor": {"dtype": "uint64"}},
                }
            }
        }
    },
}
FEATURES = json.dumps({"featuresDict": {"features": {"id": {"tensor": {"dtype": "int64"}}, "steps": EPISODE}}})


def step(number: int) -> dict[str, Any]:
    return {
        "image": np.full((2, 2, 1), number, np.uint8),
        "packed": np.full(3, number, np.float32),
        "depth": np.full((2, 2, 1), number / 2, np.float32),
        "any": np.full((number, 2), number, np.uint8),
        "big": 2**64 - 1 - number,
    }


def episodes(count: int) -> list[dict[str, Any]]:
    return [{"id": row, "steps": [step(number) for number in range(1, 2 + row % 3)]} for row in range(count)]


def check(row: dict[str, Any]) -> int:
    number = int(row["id"])
    steps = [step(n) for n in range(1, 2 + number % 3)]
    assert row["steps"].keys() == steps[0].keys()
    for name, values in row["steps"].items():
        assert [value.tolist() for value in values] == [np.asarray(found[name]).tolist() for found in steps], name
    return number


def test_rows_of_every_connector_come_back(tmp_path: Path):
    schema = ps.Schema.from_tfds(FEATURES)
    written = ps.tfds.write(tmp_path / "robot", {"train": episodes(7), "test": episodes(2)}, schema=schema, shards=2)
    assert {name: split.lengths for name, split in written.splits.items()} == {"train": (3, 4), "test": (1, 1)}
    assert [check(row) for row in ps.Dataset(tmp_path / "robot", split="train")] == list(range(7))
    assert sorted(path.name for path in Path(written.path).iterdir() if "tfrecord" not in path.name) == [
        "dataset_info.json",
        "features.json",
    ]
    assert (Path(written.path) / "features.json").read_text() == FEATURES


def test_a_dataset_is_copied_as_it_is_stored_with_its_features(tmp_path: Path):
    jpeg = encode_image(np.zeros((2, 2, 1), np.uint8), "jpeg")
    rows = [row | {"steps": [one | {"image": jpeg} for one in row["steps"]]} for row in episodes(4)]
    first = ps.tfds.write(tmp_path / "robot", {"train": rows}, schema=ps.Schema.from_tfds(FEATURES))
    source = ps.Dataset(first.path)
    second = ps.tfds.write(tmp_path / "copy" / "2.0.0", {"half": source.take(2), "rest": source.skip(2)})
    assert (Path(second.path) / "features.json").read_text() == FEATURES
    copy = ps.Dataset(second.path, split="half+rest")
    assert [copy.record(row) for row in range(4)] == [source.record(row) for row in range(4)]
    assert (second.name, second.version) == ("copy", "2.0.0")


def test_columns_get_features_and_class_names(tmp_path: Path):
    schema = ps.Schema(
        {"label": ps.Feature(int, names=["cat", "dog"]), "a/x": ps.Feature("float32", (2,)), "text": str}
    )
    data = {"label": [0, 1, 1], "a/x": np.ones((3, 2), np.float32), "text": ["a", "b", "c"]}
    written = ps.tfds.write(tmp_path / "pets", {"train": data}, schema=schema)
    assert (Path(written.path) / "label.labels.txt").read_text() == "cat\ndog\n"
    ds = ps.Dataset(tmp_path / "pets")
    assert ds.schema == schema
    assert ds[1]["a"]["x"].tolist() == [1, 1]
    assert ps.tfds.builder_from_directory(tmp_path / "pets").info.features["label"].names == ("cat", "dog")


def test_a_dataset_is_replaced_only_on_demand(tmp_path: Path):
    write_directory(tmp_path / "toy" / "1.0.0", {"train": [3, 3], "test": [1]})
    with pytest.raises(FileExistsError, match="replace=True"):
        ps.tfds.write(tmp_path / "toy", {"train": {"x": [1]}})
    ps.tfds.write(tmp_path / "toy", {"train": {"x": [1]}}, replace=True)
    assert sorted(path.name for path in (tmp_path / "toy/1.0.0").iterdir()) == [
        "dataset_info.json",
        "features.json",
        "toy-train.tfrecord-00000-of-00001",
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("by", ["write", "convert"])
def test_a_dataset_is_rewritten_onto_itself(tmp_path: Path, by: str):
    schema = ps.Schema({"x": int, "label": ps.Feature(int, names=["cat", "dog"])})
    data = {"x": range(50), "label": [0, 1] * 25}
    path = ps.tfds.write(tmp_path / "toy", {"train": data}, schema=schema, shards=3).path
    if by == "write":
        ps.tfds.write(path, {"train": ps.Dataset(path).shuffle(seed=1)}, replace=True)
    else:
        ps.convert(path, path, to="tfds", shuffle=1, replace=True)
    ds = ps.Dataset(path)
    rows = [int(row["x"]) for row in ds]
    assert (sorted(rows), rows == list(range(50)), ds.schema) == (list(range(50)), False, schema)
    assert sorted(contents(Path(path))) == [
        "dataset_info.json",
        "features.json",
        "label.labels.txt",
        "toy-train.tfrecord-00000-of-00001",
    ]


def test_a_dataset_stays_whole_when_the_new_one_fails(tmp_path: Path):
    def failing() -> Iterator[dict[str, int]]:
        yield from ({"x": n} for n in range(10))
        raise RuntimeError("no more")

    path = Path(ps.tfds.write(tmp_path / "toy", {"train": {"x": range(9)}}, shards=2).path)
    before = contents(path)
    with pytest.raises(RuntimeError, match="no more"):
        ps.tfds.write(path, {"train": {"x": [1]}, "test": failing()}, replace=True)
    assert contents(path) == before
    (path / "toy-test.tfrecord-00000-of-00001").mkdir()  # the name of a new file is taken
    with pytest.raises(OSError, match="toy-test"):
        ps.tfds.write(path, {"train": {"x": [1]}, "test": {"x": [2]}}, replace=True)
    assert contents(path) == before
    assert not (path / ".incomplete").exists()


def test_a_remote_dataset_is_rewritten_onto_itself():
    path = "memory://rewritten/toy/1.0.0"
    ps.tfds.write(path, {"train": {"x": range(9)}}, shards=2)
    ps.tfds.write(path, {"train": ps.Dataset(path).skip(4)}, replace=True)
    assert [int(row["x"]) for row in ps.Dataset(path)] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize("name", ["", "a\nb", " dog", "dog\t", "\r", "\u00a0dog"])
def test_names_of_classes_that_would_change_their_number_raise(tmp_path: Path, name: str):
    schema = ps.Schema({"label": ps.Feature(int, names=["cat", name, "a dog"])})
    with pytest.raises(SchemaError, match="'label' has names of classes") as raised:
        ps.tfds.write(tmp_path / "pets", {"train": {"label": [0, 2]}}, schema=schema)
    assert f": {name!r}; rename" in str(raised.value)
    assert not contents(tmp_path)


@pytest.mark.parametrize(
    ("path", "splits", "error"),
    [
        ("toy", {}, ValueError),
        ("toy", {"a/b": {"x": [1]}}, ValueError),
        ("toy", {"all": {"x": [1]}}, ValueError),
        ("no-name", {"train": {"x": [1]}}, ValueError),
        ("toy", {"train": {"x": [None, "a"]}}, ps.SchemaError),
    ],
)
def test_what_tfds_has_no_form_for_raises_without_metadata(tmp_path: Path, path: str, splits: Any, error: type):
    with pytest.raises(error):
        ps.tfds.write(tmp_path / path, splits)
    assert not list(tmp_path.rglob("*.json"))


def test_images_of_another_dtype_raise(tmp_path: Path):
    rows = episodes(1)
    rows[0]["steps"][0]["image"] = np.zeros((2, 2, 1))
    with pytest.raises(ps.SchemaError, match="expected an image of uint8, found float64"):
        ps.tfds.write(tmp_path / "robot", {"train": rows}, schema=ps.Schema.from_tfds(FEATURES))


def test_values_of_connectors_are_not_stored_in_another_form_after_a_function(tmp_path: Path):
    tensor = {"shape": {"dimensions": ["2"]}, "dtype": "float32", "encoding": "zlib"}
    number = {"shape": {"dimensions": []}, "dtype": "int64", "encoding": "none"}
    of = "tensorflow_datasets.core.features"
    features = {
        name: {"pythonClassName": f"{of}.tensor_feature.Tensor", "tensor": found}
        for name, found in {"z": tensor, "id": number}.items()
    }
    schema = ps.Schema.from_tfds(
        json.dumps({"pythonClassName": f"{of}.features_dict.FeaturesDict", "featuresDict": {"features": features}})
    )
    rows = [{"z": np.full(2, n, np.float32), "id": n} for n in range(4)]
    written = ps.tfds.write(tmp_path / "zipped", {"train": rows}, schema=schema, progress=False)
    for ds in (
        ps.Dataset(written.path).map(lambda row: row | {"id": row["id"] + 1}),
        ps.Dataset(written.path).filter(lambda row: row["id"] > 0),
    ):
        with pytest.raises(SchemaError, match=r"'z' is what a connector of TFDS decodes.*ps\.tfds\.write"):
            ps.write(tmp_path / "copy", ds, progress=False)
        copy = ps.tfds.write(tmp_path / "copied", {"train": ds}, schema=ds.schema, replace=True, progress=False)
        expected = [(int(row["id"]), row["z"].tolist()) for row in ds]
        assert [(int(row["id"]), row["z"].tolist()) for row in ps.Dataset(copy.path)] == expected
    ids = ps.Dataset(written.path).map(lambda row: {"id": row["id"]})
    ps.write(tmp_path / "ids", ids, progress=False)
    assert [int(row["id"]) for row in ps.Dataset(tmp_path / "ids")] == [0, 1, 2, 3]
