"""Batches as tensors of TensorFlow, and as a tf.data.Dataset with the right element_spec."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import penstock as ps
from penstock.frameworks import tensorflow as feeds


def labels(batches: object) -> list[list[int]]:
    return [np.asarray(batch["label"]).tolist() for batch in batches]


def test_a_feed_gives_tensors(dataset: ps.Dataset):
    batches = list(feeds.feed(dataset.shuffle(seed=3).batch(32)))
    assert labels(batches) == labels(dataset.shuffle(seed=3).batch(32).epoch(0))
    first = batches[0]
    assert first["image"].dtype == tf.uint8
    assert first["name"].numpy()[0].decode() == f"number {int(first['label'][0])}"
    assert first["tokens"].to_list() == [list(range(n % 5)) for n in labels(batches)[0]]


def test_a_dataset_has_the_right_spec(dataset: ps.Dataset):
    data = feeds.feed(dataset.batch(32)).as_dataset()
    assert data.element_spec == {
        "image": tf.TensorSpec([None, 4, 4], tf.uint8),
        "label": tf.TensorSpec([None], tf.int64),
        "weight": tf.TensorSpec([None], tf.float32),
        "tokens": tf.RaggedTensorSpec([None, None], tf.int64, ragged_rank=1),
        "name": tf.TensorSpec([None], tf.string),
    }
    batches = list(data)
    assert len(batches) == 7
    last = batches[-1]
    assert last["label"].numpy().tolist() == list(range(192, 200))
    assert last["tokens"].to_list() == [list(range(n % 5)) for n in range(192, 200)]
    assert last["name"].numpy()[0] == b"number 192"


def test_padded_columns_and_rows_have_the_right_spec(dataset: ps.Dataset):
    tokens = dataset.select_columns(["tokens"])
    padded = feeds.feed(tokens.batch(3, pad=True)).as_dataset()
    assert padded.element_spec == {"tokens": tf.TensorSpec([None, None], tf.int64)}
    assert [batch["tokens"].shape[1] for batch in padded.take(2)] == [2, 4]
    rows = feeds.feed(dataset.select_columns(["image", "tokens", "name"])).as_dataset()
    assert rows.element_spec == {
        "image": tf.TensorSpec([4, 4], tf.uint8),
        "tokens": tf.TensorSpec([None], tf.int64),
        "name": tf.TensorSpec([], tf.string),
    }
    assert [row["tokens"].numpy().tolist() for row in rows.take(4)] == [[], [0], [0, 1], [0, 1, 2]]


def test_tuples_of_a_function(dataset: ps.Dataset):
    pairs = dataset.batch(10).map(lambda batch: (batch["image"] / np.float32(255), batch["label"]))
    data = feeds.feed(pairs).as_dataset()
    assert data.element_spec == (tf.TensorSpec([None, 4, 4], tf.float32), tf.TensorSpec([None], tf.int64))
    assert next(iter(data))[1].numpy().tolist() == list(range(10))


def test_datasets_that_were_joined(dataset: ps.Dataset):
    labels_alone = dataset.select_columns(["label"]).batch(32)
    data = feeds.feed(labels_alone.zip(labels_alone).map(lambda pair: pair[0]["label"] - pair[1]["label"])).as_dataset()
    assert data.element_spec == tf.TensorSpec([None], tf.int64)
    assert sum(len(batch) for batch in data) == len(dataset)


def test_a_spec_that_is_given(dataset: ps.Dataset):
    widths = dataset.batch(3).map(lambda batch: (batch["tokens"].to_padded(),))
    spec = (tf.TensorSpec([None, None], tf.int64),)
    data = feeds.feed(widths).as_dataset(element_spec=spec)
    assert data.element_spec == spec
    assert [batch[0].shape[1] for batch in data.take(2)] == [2, 4]


def test_each_iteration_is_an_epoch_and_resumes(dataset: ps.Dataset):
    shuffled = dataset.shuffle(seed=4).batch(32)
    feed = feeds.feed(shuffled)
    data = feed.as_dataset()
    assert labels(data) == labels(shuffled.epoch(0))
    assert labels(data) == labels(shuffled.epoch(1))
    state = feed.state_dict(after=3)
    feed.load_state_dict(state)
    assert labels(data) == labels(shuffled.epoch(1))[3:]


def test_an_empty_dataset_asks_for_its_spec(dataset: ps.Dataset):
    with pytest.raises(ValueError, match="element_spec"):
        feeds.feed(dataset.take(0)).as_dataset()


def test_what_makes_no_tensor_raises_with_its_name_and_the_way_out(tmp_path: Path):
    pictures = [np.zeros((size, size), np.uint8) for size in (2, 3)]
    ps.write(tmp_path / "pictures", {"picture": pictures, "score": [1.0, None]})
    for column, way_out in (("picture", "resize them"), ("score", "fill")):
        chosen = ps.Dataset(tmp_path / "pictures", columns=[column]).batch(2)
        for ask in (lambda feed: next(iter(feed)), lambda feed: feed.as_dataset()):
            with pytest.raises(TypeError, match=way_out) as caught:
                ask(feeds.feed(chosen))
            assert f"column {column!r}" in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
