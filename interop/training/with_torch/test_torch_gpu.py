"""Feeds to a GPU: what arrives is what was stored, however late the model comes to read it. Skipped without one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import penstock as ps
from penstock.frameworks import torch as feeds

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")

ROWS, BATCH = 4096, 64


@pytest.fixture(scope="module")
def floats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gpu") / "floats"
    numbers = np.arange(ROWS, dtype=np.float32)
    columns = {"image": np.tile(numbers[:, None, None], (1, 64, 64)), "number": numbers.astype(np.int64)}
    ps.write(path, columns, shards=4)
    return path


def test_every_kind_of_column_arrives_on_the_gpu_as_it_does_on_the_cpu(dataset: ps.Dataset) -> None:
    batches = dataset.shuffle(seed=3).batch(32).epoch(0)
    for here, there in zip(feeds.feed(batches), feeds.feed(batches, device="cuda"), strict=True):
        assert here.keys() == there.keys()
        assert here["name"] == there["name"]
        for name in ("image", "label", "weight"):
            assert there[name].is_cuda
            torch.testing.assert_close(there[name].cpu(), here[name], rtol=0, atol=0)
        assert [row.tolist() for row in there["tokens"].unbind()] == [row.tolist() for row in here["tokens"].unbind()]


def test_a_slow_model_reads_no_batch_after_its_memory_was_reused(floats: Path) -> None:
    busy = torch.randn(4096, 4096, device="cuda")
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    for batch in feeds.feed(ps.Dataset(floats).shuffle(seed=1).batch(BATCH).repeat(8), device="cuda", ahead=4):
        busy = (busy @ busy).clamp_(-1, 1)  # work that the comparison below must queue behind
        wrong += (batch["image"] != batch["number"][:, None, None]).sum()
    assert wrong.item() == 0


def test_device_memory_is_bounded_whatever_the_number_of_epochs(floats: Path) -> None:
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    for _ in range(5):
        for batch in feeds.feed(ps.Dataset(floats).batch(BATCH), device="cuda"):
            batch["image"].sum()
        torch.cuda.synchronize()
    one_epoch = ROWS * 64 * 64 * 4
    assert torch.cuda.memory_reserved() - before < one_epoch


def test_a_feed_on_the_gpu_resumes_where_it_stood(floats: Path) -> None:
    batches = ps.Dataset(floats).shuffle(seed=5).batch(BATCH)
    feed = feeds.feed(batches, device="cuda")
    elements = iter(feed)
    for _ in range(7):
        next(elements)
    state = feed.state_dict()
    rest = [batch["number"].tolist() for batch in elements]
    resumed = feeds.feed(batches, device="cuda")
    resumed.load_state_dict(state)
    assert [batch["number"].tolist() for batch in resumed] == rest
