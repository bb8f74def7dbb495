"""Batches as tensors of torch: the same values, in the memory that they were decoded into."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import penstock as ps
from penstock.frameworks import torch as feeds


def test_a_feed_gives_tensors_in_the_order_of_the_dataset(dataset: ps.Dataset):
    shuffled = dataset.shuffle(seed=3).batch(32)
    expected = list(shuffled.epoch(0))
    batches = list(feeds.feed(shuffled.epoch(0)))
    assert [batch["label"].tolist() for batch in batches] == [batch["label"].tolist() for batch in expected]
    assert batches[0]["image"].dtype == torch.uint8
    assert batches[0]["image"].shape == (32, 4, 4)
    assert batches[0]["name"] == expected[0]["name"].to_list()
    assert [row.tolist() for row in batches[0]["tokens"].unbind()] == expected[0]["tokens"].to_list()


def test_tensors_are_the_memory_of_the_columns():
    batch = ps.Batch({"x": np.arange(12, dtype=np.float32).reshape(3, 4)})
    assert feeds.convert(batch)["x"].data_ptr() == batch["x"].ctypes.data


def test_a_batch_stays_as_it_was_while_later_ones_are_read(dataset: ps.Dataset):
    batches = list(feeds.feed(dataset.batch(8)))
    assert torch.cat([batch["label"] for batch in batches]).tolist() == list(range(len(dataset)))
    assert torch.cat([batch["image"][:, 0, 0] for batch in batches]).tolist() == [n % 256 for n in range(len(dataset))]


def test_ragged_columns_are_padded_where_asked(dataset: ps.Dataset):
    batch = next(iter(feeds.feed(dataset.batch(5), ragged="padded")))
    assert batch["tokens"].tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 2, 0], [0, 1, 2, 3]]


def test_two_ragged_levels_are_padded_or_raise():
    column = ps.Ragged(ps.Ragged(np.arange(3), [0, 1, 3]), [0, 2])
    assert feeds.convert({"x": column}, ragged="padded")["x"].tolist() == [[[0, 0], [1, 2]]]
    with pytest.raises(TypeError, match="one ragged level"):
        feeds.convert({"x": column})


def test_absent_rows_raise_with_the_way_out():
    with pytest.raises(TypeError, match=r"column .x. has absent values.*fill"):
        feeds.convert({"x": ps.Nullable(np.arange(2), [True, False])})


def test_bfloat16_keeps_its_bits():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    tensor = feeds.convert(np.array([0.5, 3], ml_dtypes.bfloat16))
    assert tensor.dtype == torch.bfloat16
    assert tensor.tolist() == [0.5, 3]


def test_tuples_of_a_function_stay_tuples(dataset: ps.Dataset):
    pairs = dataset.batch(10).map(lambda batch: (batch["image"] / np.float32(255), batch["label"]))
    image, label = next(iter(feeds.feed(pairs)))
    assert image.dtype == torch.float32
    assert label.tolist() == list(range(10))


@pytest.mark.parametrize("given", [0, 1, 3, 6])
def test_a_feed_resumes_after_what_it_yielded_not_after_what_is_ready(dataset: ps.Dataset, given: int):
    shuffled = dataset.shuffle(seed=5).batch(32)
    feed = feeds.feed(shuffled, ahead=3)
    batches = iter(feed)
    for _ in range(given):
        next(batches)
    state = json.loads(json.dumps(feed.state_dict()))
    rest = [batch["label"].tolist() for batch in batches]
    following = [batch["label"].tolist() for batch in feed]

    again = feeds.feed(dataset.shuffle(seed=5).batch(32))
    again.load_state_dict(state)
    assert [batch["label"].tolist() for batch in again] == rest
    assert [batch["label"].tolist() for batch in again] == following
    assert following != rest


def test_a_loop_that_takes_ahead_asks_where_it_stood(dataset: ps.Dataset):
    feed = feeds.feed(dataset.batch(20))
    labels = [batch["label"].tolist() for batch in feed]
    state = feed.state_dict(after=4)
    feed.load_state_dict(state)
    assert [batch["label"].tolist() for batch in feed] == labels[4:]
    feed.load_state_dict(state)
    next(iter(feed))
    with pytest.raises(ps.StateError, match="no position after"):
        feed.state_dict(after=2)


def test_an_error_of_the_data_reaches_the_loop(dataset: ps.Dataset):
    def fail(batch: ps.Batch) -> None:
        raise ValueError("no such batch")

    with pytest.raises(ValueError, match="no such batch"):
        next(iter(feeds.feed(dataset.batch(10).map(fail))))


def test_images_of_unequal_sizes_are_a_list_of_tensors():
    images = np.empty(2, object)
    images[:] = [np.zeros((2, 3, 3), np.uint8), np.ones((4, 1, 3), np.uint8)]
    tensors = feeds.convert({"image": images})["image"]
    assert [tuple(tensor.shape) for tensor in tensors] == [(2, 3, 3), (4, 1, 3)]
    assert tensors[1].dtype == torch.uint8
