"""Datasets in a DataLoader: workers and ranks have each element once, epochs differ, a stateful loader resumes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import multiprocessing
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import penstock as ps
from penstock.frameworks import torch as feeds

# The more workers, the better the test; and torchdata calls what torch has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.set_vital. is deprecated")

WORKERS = [(0, None), (3, "fork"), (2, "spawn")]


def labels(loader: Any) -> list[list[int]]:
    return [batch["label"].tolist() for batch in loader]


@pytest.mark.parametrize(("workers", "start"), WORKERS)
def test_batches_come_in_the_order_of_the_dataset_whatever_the_workers(
    dataset: ps.Dataset, workers: int, start: str | None
):
    batched = dataset.shuffle(seed=1).batch(16)
    loader = DataLoader(
        feeds.IterableDataset(batched, ragged="padded"),
        batch_size=None,
        num_workers=workers,
        multiprocessing_context=start,
    )
    assert len(loader) == 13
    assert labels(loader) == labels(batched.epoch(0))
    assert labels(loader) == labels(batched.epoch(1))
    assert labels(loader) == labels(batched.epoch(2))


def test_persistent_workers_go_on_to_the_next_epoch(dataset: ps.Dataset):
    batched = dataset.select_columns(["label"]).shuffle(seed=1).batch(16)
    loader = DataLoader(feeds.IterableDataset(batched), batch_size=None, num_workers=2, persistent_workers=True)
    assert [labels(loader) for _ in range(3)] == [labels(batched.epoch(epoch)) for epoch in range(3)]


def test_rows_are_collated_by_the_loader(dataset: ps.Dataset):
    rows = feeds.IterableDataset(dataset.select_columns(["label", "image", "name"]))
    batches = list(DataLoader(rows, batch_size=50, num_workers=2))
    assert sorted(label for batch in batches for label in batch["label"].tolist()) == list(range(len(dataset)))
    assert batches[0]["image"].shape == (50, 4, 4)
    assert batches[0]["name"][0] == f"number {batches[0]['label'][0]}"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_loader_resumes_at_mid_epoch(dataset: ps.Dataset, workers: int):
    batched = dataset.select_columns(["label"]).shuffle(seed=1).batch(16)

    def loader() -> StatefulDataLoader:
        return StatefulDataLoader(feeds.IterableDataset(batched), batch_size=None, num_workers=workers)

    first = loader()
    labels(first)  # the first epoch
    batches = iter(first)
    for _ in range(5):
        next(batches)
    state = first.state_dict()
    rest = labels(batches)
    following = labels(first)
    assert rest == labels(batched.epoch(1))[5:]

    second = loader()
    second.load_state_dict(state)
    assert labels(second) == rest
    assert labels(second) == following == labels(batched.epoch(2))


def test_a_map_style_dataset_is_sampled(dataset: ps.Dataset):
    table = feeds.MapDataset(dataset)
    loader = DataLoader(table, batch_size=32, shuffle=True, num_workers=2, collate_fn=feeds.collate)
    batches = list(loader)
    assert sorted(label for batch in batches for label in batch["label"].tolist()) == list(range(len(dataset)))
    for batch in batches:
        assert [row.numel() for row in batch["tokens"].unbind()] == [n % 5 for n in batch["label"].tolist()]
    plain = DataLoader(feeds.MapDataset(dataset.select_columns(["label", "image"])), batch_size=100)
    assert [batch["image"].shape for batch in plain] == [(100, 4, 4)] * 2
    assert table[7]["name"] == "number 7"


def run_rank(rank: int, world: int, meeting: str, path: Path, found: Any) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    batched = ps.Dataset(path, columns=["label"]).shuffle(seed=2).batch(8)
    context = "spawn" if rank else "fork"
    loader = DataLoader(feeds.IterableDataset(batched), batch_size=None, num_workers=2, multiprocessing_context=context)
    found.put((rank, labels(loader), labels(feeds.feed(batched)), labels(feeds.feed(batched.shard(rank, world)))))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_ranks_and_their_workers_have_each_batch_once(path: Path):
    context = multiprocessing.get_context("spawn")
    found = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        arguments = (2, os.path.join(folder, "meeting"), path, found)
        ranks = multiprocessing.spawn(run_rank, arguments, nprocs=2, join=False)
        results = {rank: rest for rank, *rest in (found.get(), found.get())}
        ranks.join()
    expected = labels(ps.Dataset(path).shuffle(seed=2).batch(8).epoch(0))
    for rank in range(2):
        loaded, fed, dealt = results[rank]
        assert loaded == fed == dealt == expected[rank::2]
