"""The name of a file says which shard of which dataset it is."""

from __future__ import annotations

import pytest

from penstock.storage.shard_names import (
    ShardName,
    dataset_of,
    has_record_extension,
    missing_shards,
    shard_number,
    without_extension,
)


@pytest.mark.parametrize(
    ("file", "dataset", "number"),
    [
        ("data/train-00000-of-00008.tfrecord", "data/train", (0, 8)),
        ("train-00007-of-00008.tfrecord.gz", "train", (7, 8)),
        ("mnist-train.tfrecord-00000-of-00001", "mnist-train", (0, 1)),
        ("s3://bucket/part-1-of-2.tfrec.gzip", "s3://bucket/part", (1, 2)),
        ("flowers00-230.tfrec", "flowers00-230", None),
        ("train.record.snappy", "train", None),
        ("a-00000-of-00002/train", "a-00000-of-00002/train", None),
    ],
)
def test_a_file_names_its_dataset_and_its_number(file: str, dataset: str, number: tuple[int, int] | None):
    assert dataset_of(file) == dataset
    assert shard_number(file) == number


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecords.gz", "a.tfrecord-00000-of-00002", "a.record.zz"])
def test_tfrecord_files_are_known_by_their_extension(name: str):
    assert has_record_extension(name)


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "tfrecord", "a.tfrecord.txt", "a.tfrecord.json"])
def test_other_files_are_not(name: str):
    assert not has_record_extension(name)


def test_extensions_are_cut_off():
    assert without_extension("out/a.b.tfrecord.gz") == "out/a.b"
    assert without_extension("a-00000-of-00002.tfrecord") == "a-00000-of-00002"
    assert without_extension("a.txt") == "a.txt"


def test_a_name_has_the_parts_that_it_is_made_of():
    name = ShardName("train", 3, 12, ".tfrecord.gz")
    assert str(name) == "train-00003-of-00012.tfrecord.gz"
    assert ShardName.parse(str(name)) == name
    assert name.is_written
    assert not name._replace(suffix=".txt").is_written
    assert ShardName.parse("train.tfrecord") is None


def test_missing_shards_are_numbers():
    files = ["a/train-00001-of-00004.tfrecord", "a/train-00003-of-00004.tfrecord", "a/one-00000-of-00001.tfrecord"]
    (missing,) = missing_shards(files)
    assert (missing.pattern, list(missing)) == ("a/train-*-of-00004.tfrecord", [0, 2])


def test_as_many_missing_shards_as_a_name_claims_take_no_memory():
    (missing,) = missing_shards(["train-00000-of-999999999.tfrecord"])
    assert len(missing) == 999_999_998
    assert missing.first(2) == [1, 2]
