"""Whole folders: those of TFDS that we open, and ours that TFDS opens."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_datasets as tfds
from etils import epath
from test_connectors import ALONE, LEAVES
from tfds_values import assert_equal

import penstock as ps

F = tfds.features
SPLITS = {"train": 25, "test": 7}
FEATURES = {
    "id": np.int64,
    "label": F.ClassLabel(names=["cat", "dog"]),
    "nested": {"kind": F.Sequence(F.ClassLabel(names=["a", "b", "c"])), "text": F.Text()},
    "steps": F.Dataset({"observation": {"image": F.Image(shape=(4, 4, 3))}, "reward": np.float32}),
}


def rows(count: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for n in range(count):
        steps = [
            {"observation": {"image": np.full((4, 4, 3), n + step, np.uint8)}, "reward": float(step)}
            for step in range(n % 4 + 1)
        ]
        nested = {"kind": ["a", "b", "c"][: n % 4], "text": f"row {n}"}
        yield n, {"id": n, "label": n % 2, "nested": nested, "steps": steps}


def make(folder: Path, file_format: str) -> Path:
    class Robot(tfds.core.GeneratorBasedBuilder):
        pkg_dir_path = epath.Path(folder)
        VERSION = tfds.core.Version("1.2.0")
        RELEASE_NOTES = {"1.2.0": ""}  # noqa: RUF012

        def _info(self) -> Any:
            return self.dataset_info_from_configs(features=F.FeaturesDict(FEATURES))

        def _split_generators(self, dl_manager: Any) -> Any:
            return {name: self._generate_examples(count) for name, count in SPLITS.items()}

        def _generate_examples(self, count: int) -> Any:
            yield from rows(count)

    builder = Robot(data_dir=folder, file_format=file_format)
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(num_shards=3))
    return Path(builder.data_dir)


@pytest.fixture(scope="module")
def tfrecord(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("tfrecord"), "tfrecord")


@pytest.fixture(scope="module")
def array_record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tfds.core.registered.skip_registration():
        return make(tmp_path_factory.mktemp("array_record"), "array_record")


@pytest.mark.parametrize(
    "split",
    [
        "train",
        "all",
        "train[:50%]",
        "train[5:12]+test",
        "train[-7:]",
        "test[1shard]",
        "train[-2shard:]",
        "train[10:50%]+test[:2]+train[:-20]",
    ],
)
def test_slices_have_the_rows_of_tfds(tfrecord: Path, split: str):
    theirs = [int(row["id"]) for row in tfds.as_numpy(tfds.builder_from_directory(tfrecord).as_dataset(split=split))]
    assert [int(row["id"]) for row in ps.Dataset(tfrecord, split=split)] == theirs


@pytest.mark.parametrize("split", ["train", "all", "train[5:12]+test", "test[1shard]", "train[10:50%]+test[:2]"])
def test_array_record_files_have_the_rows_of_tfds(array_record: Path, split: str):
    theirs, ds = tfds.builder_from_directory(array_record).as_data_source(split), ps.Dataset(array_record, split=split)
    assert len(ds) == len(theirs)
    for number, (ours, their) in enumerate(zip(ds, theirs, strict=True)):
        their["steps"] = list(their["steps"])
        for row in (ours, ds[number]):
            assert (row["id"], row["label"], row["nested"]["text"]) == (
                their["id"],
                their["label"],
                their["nested"]["text"].decode(),
            )
            np.testing.assert_array_equal(row["nested"]["kind"], their["nested"]["kind"])
            np.testing.assert_array_equal(row["steps"]["reward"], [step["reward"] for step in their["steps"]])
            pictures = [step["observation"]["image"] for step in their["steps"]]
            np.testing.assert_array_equal(row["steps"]["observation"]["image"], np.stack(pictures))
    assert sorted(int(row["id"]) for row in ds.shuffle(seed=1)) == sorted(int(row["id"]) for row in theirs)


@pytest.mark.parametrize("drop", [False, True])
def test_even_splits_and_rounding_are_those_of_tfds(tfrecord: Path, drop: bool):
    builder = tfds.builder_from_directory(tfrecord)
    pairs = [
        *zip(
            tfds.even_splits("train[1:]+test", 3, drop_remainder=drop),
            ps.tfds.even_splits("train[1:]+test", 3, drop_remainder=drop),
            strict=True,
        ),
        (
            tfds.core.ReadInstruction("train", from_=10, to=-25, unit="%"),
            ps.tfds.ReadInstruction("train", 10, -25, "%"),
        ),
    ]
    for theirs, ours in pairs:
        expected = [int(row["id"]) for row in tfds.as_numpy(builder.as_dataset(split=theirs))]
        assert [int(row["id"]) for row in ps.Dataset(tfrecord, split=ours)] == expected


def test_rows_and_metadata_are_those_of_tfds(tfrecord: Path):
    builder = tfds.builder_from_directory(tfrecord)
    ds = ps.Dataset(tfrecord, split="train")
    for ours, theirs in zip(ds, builder.as_dataset(split="train"), strict=True):
        assert_equal(ours, theirs)
    assert ds.schema["label"].names == ("cat", "dog")
    assert ds.schema["nested/kind"].names == ("a", "b", "c")


def test_the_facade_returns_what_tfds_returns(tfrecord: Path):
    ours, theirs = ps.tfds.builder_from_directory(tfrecord), tfds.builder_from_directory(tfrecord)
    for name, info in theirs.info.splits.items():
        found = ours.info.splits[name]
        assert (found.num_examples, list(found.shard_lengths), list(found.filenames)) == (
            info.num_examples,
            info.shard_lengths,
            info.filenames,
        )
    assert (ours.info.name, ours.info.version) == (theirs.info.name, str(theirs.info.version))
    expected = theirs.as_dataset(split="test")
    for our, their in zip(ours.as_data_source("test"), tfds.as_numpy(expected), strict=True):
        assert our["nested"]["text"] == their["nested"]["text"]
        assert [step["reward"] for step in our["steps"]] == [step["reward"] for step in their["steps"]]


@pytest.mark.parametrize("names", [[*LEAVES], [*ALONE]], ids=["leaves", "alone"])
def test_tfds_reads_what_we_write(tmp_path: Path, names: list[str]):
    r = random.Random(7)
    # TFDS stores no bfloat16 without encoding and no encoded audio, and does not decode raw uint32.
    chosen = [name for name in names if name not in ("bfloat16", "jpeg file", "audio zlib") and "uint32" not in name]
    features = F.FeaturesDict({f"f{n}": (LEAVES | ALONE)[name][0] for n, name in enumerate(chosen)} | {"id": np.int64})
    records = [
        features.serialize_example({f"f{n}": (LEAVES | ALONE)[name][1](r) for n, name in enumerate(chosen)} | {"id": i})
        for i in range(5)
    ]
    schema = ps.Schema.from_tfds(json.dumps(features.to_json()))
    decoded = list(ps.Decoder(schema).decode(records).rows())
    written = ps.tfds.write(tmp_path / "ours", {"train": decoded}, schema=schema, shards=2)
    for ours, theirs in zip(decoded, tfds.builder_from_directory(written.path).as_dataset(split="train"), strict=True):
        found = dict(theirs)
        for name in [name for name in found if ours[name] is None]:  # TensorFlow has no None
            found.pop(name)
        assert_equal({name: ours[name] for name in found}, found)


def test_tfds_reads_columns_that_nobody_described(tmp_path: Path):
    columns = {
        "image": np.arange(48, dtype=np.uint8).reshape(3, 4, 4),
        "score": np.arange(3, dtype=np.float32),
        "tokens": [[1], [], [2, 3]],
        "text": ["a", "b", "c"],
        "meta/flag": [True, False, True],
    }
    written = ps.tfds.write(tmp_path / "ours", {"train": columns})
    theirs = tfds.builder_from_directory(written.path).as_dataset("train")
    for our, their in zip(ps.Dataset(written.path), theirs, strict=True):
        assert_equal(our, their)
