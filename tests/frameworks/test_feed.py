"""A feed gives what the dataset gives, made ready ahead, and stands where its consumer stands."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.frameworks.feed import Feed

BATCHES = 7


@pytest.fixture
def dataset(tmp_path: Path) -> ps.Dataset:
    ps.write(tmp_path / "numbers", {"x": np.arange(200)}, shards=2)
    return ps.Dataset(tmp_path / "numbers").shuffle(seed=1).batch(32)


def numbers(batch: ps.Batch) -> list[int]:
    found: list[int] = batch["x"].tolist()
    return found


@pytest.mark.parametrize("ahead", [0, 1, 20])
@pytest.mark.parametrize("given", range(BATCHES + 1))
def test_a_state_is_of_what_was_given_out(dataset: ps.Dataset, ahead: int, given: int):
    feed = Feed(dataset, numbers, ahead=ahead)
    batches = iter(feed)
    seen = [next(batches) for _ in range(given)]
    state = json.loads(json.dumps(feed.state_dict()))
    rest = list(batches)
    assert seen + rest == list(map(numbers, dataset.epoch(0)))
    again = Feed(dataset.epoch(5), numbers, ahead=ahead)
    again.load_state_dict(state)
    assert again.state_dict() == state
    assert list(again) == rest
    assert list(again) == list(map(numbers, dataset.epoch(1)))


def test_a_state_after_fewer_elements_than_were_taken(dataset: ps.Dataset):
    feed = Feed(dataset, numbers, ahead=2)
    whole = list(feed)
    for used in range(BATCHES + 1):
        again = Feed(dataset, numbers, ahead=2)
        again.load_state_dict(feed.state_dict(after=used))
        assert list(again) == whole[used:]
    for never in (-1, BATCHES + 1):
        with pytest.raises(ps.StateError, match="no position after"):
            feed.state_dict(after=never)


def test_passes_are_epochs(dataset: ps.Dataset):
    feed = Feed(dataset, numbers, ahead=2)
    assert [list(feed) for _ in range(3)] == [list(map(numbers, dataset.epoch(n))) for n in range(3)]
    assert len(feed) == BATCHES


def test_work_ahead_is_done_on_another_thread_and_arrival_on_the_consumers(dataset: ps.Dataset):
    threads: list[Any] = []

    def note(element: Any) -> Any:
        threads.append(threading.current_thread())
        return element

    arrived: list[Any] = []
    feed = Feed(dataset, note, arrive=lambda element: arrived.append(threading.current_thread()), ahead=3)
    batches = iter(feed)
    next(batches)
    assert threading.current_thread() not in threads
    assert set(arrived) == {threading.current_thread()}
    batches.close()
    assert not any(thread.is_alive() for thread in threads)


def test_errors_come_where_they_belong(dataset: ps.Dataset):
    def fail_at_the_third(batch: ps.Batch) -> int:
        if numbers(batch) == third:
            raise ValueError("the third")
        return 0

    third = [numbers(batch) for batch in dataset.epoch(0)][2]
    batches = iter(Feed(dataset.epoch(0), fail_at_the_third, ahead=5))
    assert [next(batches), next(batches)] == [0, 0]
    with pytest.raises(ValueError, match="the third"):
        next(batches)


def test_a_feed_is_of_a_dataset():
    with pytest.raises(TypeError, match=r"a feed needs a ps\.Dataset, not str"):
        Feed("data/train", lambda element: element, ahead=1)  # type: ignore[arg-type]
