"""A cache file is not read after anything its elements depend on has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock.tf as tf
from penstock.tf.data.cache_fingerprint import fingerprint_of

Dataset = tf.data.Dataset


def numbers(ds: Any) -> list[int]:
    return [int(element) for element in ds.as_numpy_iterator()]


def write(path: Path, records: list[bytes]) -> None:
    with tf.io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


@pytest.mark.parametrize(
    "change",
    [
        lambda path, name: Dataset.range(4).map(lambda x: x + 1).cache(name),
        lambda path, name: Dataset.range(3).map(lambda x: x + 2).cache(name),
        lambda path, name: Dataset.range(3).map(lambda x: x + 1).filter(lambda x: x > 1).cache(name),
        lambda path, name: tf.data.TFRecordDataset(path).cache(name),
    ],
)
def test_a_cache_of_another_pipeline_raises(tmp_path: Path, change: Any):
    write(tmp_path / "data", [b"a"])
    name = str(tmp_path / "cache")
    list(Dataset.range(3).map(lambda x: x + 1).cache(name))
    assert numbers(Dataset.range(3).map(lambda x: x + 1).cache(name)) == [1, 2, 3]
    with pytest.raises(tf.errors.FailedPreconditionError, match="Delete it, or give cache"):
        list(change(tmp_path / "data", name))


@pytest.mark.parametrize(
    "read",
    [
        lambda path: tf.data.TFRecordDataset(path),
        lambda path: tf.data.TFRecordDataset(path, num_parallel_reads=2),
        lambda path: Dataset.list_files(str(path)).interleave(tf.data.TFRecordDataset),
    ],
)
def test_a_cache_of_changed_files_raises(tmp_path: Path, read: Any):
    path = tmp_path / "data"
    write(path, [b"a", b"b"])
    name = str(tmp_path / "cache")
    list(read(path).map(tf.strings.length).shuffle(3).cache(name))
    assert numbers(read(path).map(tf.strings.length).shuffle(3).cache(name)) == [1, 1]
    write(path, [b"a", b"c"])
    with pytest.raises(tf.errors.FailedPreconditionError, match="data has changed"):
        list(read(path).map(tf.strings.length).shuffle(3).cache(name))


def test_a_changed_feature_description_raises(tmp_path: Path):
    def parsing(features: Any) -> Any:
        ds = Dataset.from_tensor_slices([tf.train.Example().SerializeToString()])
        return ds.map(lambda record: tf.io.parse_single_example(record, features)).cache(tmp_path / "cache")

    for default in (1, 1, 2):
        ds = parsing({"x": tf.io.FixedLenFeature([], tf.int64, default)})
        if default == 1:
            assert [int(element["x"]) for element in ds] == [1]
        else:
            with pytest.raises(tf.errors.FailedPreconditionError, match="its function or the Penstock version"):
                list(ds)


def sampled(weights: list[float], seed: int) -> Any:
    return Dataset.sample_from_datasets([Dataset.range(3), Dataset.range(5)], weights, seed=seed)


PIPELINES: dict[str, Callable[[], Any]] = {
    "range": lambda: Dataset.range(3),
    "another range": lambda: Dataset.range(4),
    "slices": lambda: Dataset.from_tensor_slices({"x": [1.0, 2.0], "y": [b"a", b"b"]}),
    "ragged slices": lambda: Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]])),
    "element": lambda: Dataset.from_tensors((1, tf.sparse.from_dense([0, 2]))),
    "take": lambda: Dataset.range(3).take(2),
    "skip": lambda: Dataset.range(3).skip(2),
    "shard": lambda: Dataset.range(3).shard(2, 1),
    "repeat": lambda: Dataset.range(3).repeat(2),
    "concatenate": lambda: Dataset.range(3).concatenate(Dataset.range(2)),
    "shuffle": lambda: Dataset.range(3).shuffle(2, seed=1),
    "shuffle with another seed": lambda: Dataset.range(3).shuffle(2, seed=2),
    "batch": lambda: Dataset.range(3).batch(2),
    "full batches": lambda: Dataset.range(3).batch(2, drop_remainder=True),
    "padded batch": lambda: Dataset.range(3).padded_batch(2, padding_values=7),
    "ragged batch": lambda: Dataset.range(3).ragged_batch(2),
    "unbatch": lambda: Dataset.range(3).batch(2).unbatch(),
    "zip": lambda: Dataset.zip((Dataset.range(3), Dataset.range(4))),
    "sample": lambda: sampled([0.5, 0.5], 1),
    "sample with another seed": lambda: sampled([0.5, 0.5], 2),
    "sample with other weights": lambda: sampled([0.4, 0.6], 1),
    "unique": lambda: Dataset.range(3).unique(),
    "map": lambda: Dataset.range(3).map(tf.abs),
    "filter": lambda: Dataset.range(3).filter(tf.equal),
    "scan": lambda: Dataset.range(3).scan(0, lambda state, x: (state, x)),
    "interleave": lambda: Dataset.range(3).interleave(Dataset.range),
    "interleave with another cycle": lambda: Dataset.range(3).interleave(Dataset.range, cycle_length=2),
    "interleave of another function": lambda: Dataset.range(3).interleave(Dataset.from_tensors),
    "group": lambda: Dataset.range(3).group_by_window(tf.abs, tf.add, 2),
    "group with another size": lambda: Dataset.range(3).group_by_window(tf.abs, tf.add, 3),
    "bucket": lambda: Dataset.range(3).bucket_by_sequence_length(tf.abs, [1], [2, 2], no_padding=True),
    "other buckets": lambda: Dataset.range(3).bucket_by_sequence_length(tf.abs, [2], [2, 2], no_padding=True),
    "ignore_errors": lambda: Dataset.range(3).ignore_errors(),
}


def steps_of(ds: Any) -> str:
    return fingerprint_of(ds._elements()).steps


def test_fingerprints_differ_and_are_the_same_for_the_same_pipeline():
    found = {name: steps_of(make()) for name, make in PIPELINES.items()}
    assert found == {name: steps_of(make()) for name, make in PIPELINES.items()}
    assert len(set(found.values())) == len(PIPELINES)


STORED = {
    "range": "edc1fd0f7d1f6c0a098748e65e84cee5",
    "slices": "92156abd0ebf12ef91dcea357770a920",
    "ragged slices": "8c5c29162ff1670cfe60b71a628ba551",
    "element": "f54d996eec78b3af1d7fbe60d07c8c01",
    "take": "725776b71712db2b665382d8c453473c",
    "skip": "a317e1ba4d3200d7346ab4c760ccd627",
    "shard": "3ca2636996ea3862db9ac0eb50423c1f",
    "repeat": "f3a999190968d08ce7eb7deaf4fd50cd",
    "concatenate": "85133b1456c99e555f595fee7533c9f0",
    "shuffle": "f3f17d8bd766c576e92d125e2965911d",
    "batch": "63a8038595021cb0443131a1df3d8d96",
    "padded batch": "a43ed88e7ad4d11f870975c81e78d99a",
    "ragged batch": "97dd05655a5624a3ab5848cad30c1aab",
    "unbatch": "1d7106c6ca9893744f2ccd750984ad89",
    "zip": "440417c163bc596dbcad2a4fd6ef1183",
    "sample": "b655eb149308482b88cfd67e3549a7fd",
    "unique": "d139822694bb4913113b970da69010e3",
    "ignore_errors": "ef6d25b9d168a9b4f28e7828a6aba1b2",
}


def test_fingerprints_stay_from_version_to_version_of_penstock():
    # Another digest makes users delete their caches: change the format's version with it.
    assert {name: steps_of(PIPELINES[name]()) for name in STORED} == STORED


def test_prefetching_and_tracing_do_not_change_a_fingerprint():
    options = tf.data.Options()
    options.tracing = False
    batches = Dataset.range(3).batch(2)
    assert steps_of(batches.prefetch(2)) == steps_of(batches)

    def add(x: Any) -> Any:
        return x + 1

    traced, called = Dataset.range(3).map(add), Dataset.range(3).with_options(options).map(add)
    assert steps_of(traced.batch(2)) == steps_of(called.batch(2))


def test_a_file_named_like_a_transformation_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    ds = Dataset.range(3).batch(2)
    for name in ("range", "batch", "stack"):
        Path(name).write_bytes(b"data")
    assert fingerprint_of(ds._elements()).files == {}
