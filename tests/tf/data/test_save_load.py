"""``save`` and ``load``; files are exchanged with TensorFlow in interop/tf/data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def mixed(x: Any) -> Any:
    return {"text": tf.strings.as_string(x), "list": tf.range(x), "pair": (tf.cast(x, tf.float32), x)}


def test_elements_are_loaded_with_a_spec_that_matches_all(tmp_path: Path):
    Dataset.range(4).map(mixed).save(str(tmp_path / "saved"))
    loaded = Dataset.load(tmp_path / "saved")
    assert len(loaded) == 4
    assert loaded.element_spec["list"] == tf.TensorSpec([None], tf.int64)
    assert [element["text"].numpy() for element in loaded] == [b"0", b"1", b"2", b"3"]
    assert [element["list"].numpy().tolist() for element in loaded] == [[], [0], [0, 1], [0, 1, 2]]
    assert [element["pair"][0].numpy() for element in loaded.skip(2)] == [2.0, 3.0]


def test_shards_are_read_in_turn_or_by_a_reader_function(tmp_path: Path):
    Dataset.range(6).save(str(tmp_path), shard_func=lambda x: x % 2, compression="GZIP")
    assert [int(x) for x in Dataset.load(tmp_path, compression="GZIP")] == [0, 1, 2, 3, 4, 5]
    one_by_one = Dataset.load(tmp_path, compression="GZIP", reader_func=lambda shards: shards.flat_map(lambda x: x))
    assert [int(x) for x in one_by_one] == [0, 2, 4, 1, 3, 5]


def test_saving_replaces_a_dataset_but_not_the_files_in_use(tmp_path: Path):
    Dataset.range(3).save(str(tmp_path))
    before = Dataset.load(tmp_path)
    Dataset.range(0).save(str(tmp_path))
    assert list(Dataset.load(tmp_path)) == []
    assert [int(x) for x in before] == [0, 1, 2]  # its files still exist


def test_a_save_that_fails_leaves_the_previous_dataset(tmp_path: Path):
    Dataset.range(3).save(str(tmp_path))
    with pytest.raises(tf.errors.InvalidArgumentError):
        Dataset.range(3).map(lambda x: 6 // (x - 2)).save(str(tmp_path))
    assert [int(x) for x in Dataset.load(tmp_path)] == [0, 1, 2]


def test_unsupported_elements_and_missing_datasets_raise(tmp_path: Path):
    ragged = Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]]))
    with pytest.raises(tf.errors.UnimplementedError, match="RaggedTensor"):
        ragged.save(str(tmp_path / "ragged"))
    with pytest.raises(tf.errors.NotFoundError, match="not a saved dataset"):
        Dataset.load(tmp_path / "ragged")
    with pytest.raises(tf.errors.UnimplementedError, match="SNAPPY"):
        Dataset.range(3).save(str(tmp_path), compression="SNAPPY")


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 9, b"\x12\x03../ \x02\xc0\x3e\x01", b"\x10\x05", b"\x12\xff\xff\xff\xff\x0f"]
)
@pytest.mark.parametrize("name", ["dataset_spec.pb", "snapshot.metadata"])
def test_damaged_metadata_raises(tmp_path: Path, name: str, content: bytes):
    Dataset.range(3).save(str(tmp_path))
    (tmp_path / name).write_bytes(content)
    with pytest.raises((tf.errors.DataLossError, tf.errors.UnimplementedError)):
        Dataset.load(tmp_path)


def test_a_file_that_ends_within_an_element_raises(tmp_path: Path):
    Dataset.range(3).map(lambda x: (x, x)).save(str(tmp_path))
    (file,) = tmp_path.glob("*/*/*.snapshot")
    records = [record.numpy() for record in tf.data.TFRecordDataset(file)]
    with tf.io.TFRecordWriter(file) as writer:
        for record in records[:-1]:
            writer.write(record)
    loaded = iter(Dataset.load(tmp_path))
    assert [int(next(loaded)[0]) for _ in range(2)] == [0, 1]
    with pytest.raises(tf.errors.DataLossError, match="ends within an element"):
        next(loaded)
