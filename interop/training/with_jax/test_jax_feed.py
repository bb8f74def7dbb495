"""Batches as JAX arrays, placed by a sharding."""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"  # before JAX starts

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import penstock as ps
from penstock.frameworks import jax as feeds


def labels(batches: object) -> list[list[int]]:
    return [batch["label"].tolist() for batch in batches]


def test_a_feed_gives_arrays_in_the_order_of_the_dataset(dataset: ps.Dataset):
    shuffled = dataset.shuffle(seed=3).batch(32)
    batches = list(feeds.feed(shuffled.epoch(0)))
    assert labels(batches) == labels(shuffled.epoch(0))
    assert isinstance(batches[0]["image"], jax.Array)
    assert batches[0]["image"].dtype == np.uint8
    assert batches[0]["name"][0] == f"number {batches[0]['label'][0]}"
    assert batches[0]["tokens"].shape == (32, 4)  # padded


def test_arrays_lie_where_the_sharding_says(dataset: ps.Dataset):
    mesh = Mesh(np.array(jax.devices()), ("data",))
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    for batch in feeds.feed(dataset.select_columns(["label", "image"]).batch(40), sharding=sharding):
        assert batch["image"].sharding == sharding
        parts = sorted(batch["label"].addressable_shards, key=lambda shard: shard.device.id)
        assert [part.data.shape for part in parts] == [(10,)] * 4
        assert np.concatenate([part.data for part in parts]).tolist() == batch["label"].tolist()


def test_arrays_lie_on_the_device_that_is_named(dataset: ps.Dataset):
    device = jax.devices()[2]
    batch = next(iter(feeds.feed(dataset.select_columns(["label"]).batch(4), sharding=device)))
    assert batch["label"].devices() == {device}


def test_integers_are_narrowed_as_jax_holds_them_and_never_wrapped():
    assert feeds.convert(np.array([1, -1])).dtype == np.int32
    with pytest.raises(OverflowError, match="jax_enable_x64") as raised:
        feeds.convert({"id": np.array([1 << 40])})
    assert raised.value.__notes__ == ["column 'id'"]
    with jax.enable_x64(True):
        assert int(feeds.convert(np.array([1 << 40]))[0]) == 1 << 40


def test_a_feed_resumes(dataset: ps.Dataset):
    feed = feeds.feed(dataset.shuffle(seed=5).batch(32))
    batches = iter(feed)
    next(batches)
    state = feed.state_dict()
    rest = labels(batches)
    again = feeds.feed(dataset.shuffle(seed=5).batch(32))
    again.load_state_dict(state)
    assert labels(again) == rest


def test_a_state_fits_the_feed_of_another_framework(dataset: ps.Dataset):
    from penstock.frameworks import torch as torch_feeds

    feed = feeds.feed(dataset.shuffle(seed=5).batch(32))
    next(iter(feed))
    again = torch_feeds.feed(dataset.shuffle(seed=5).batch(32))
    again.load_state_dict(feed.state_dict())
    assert labels(again) == labels(dataset.shuffle(seed=5).batch(32).epoch(0))[1:]
