"""Orders against plain Python, and what makes a shuffle a good one."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import _core
from penstock.dataset.order import AllRows, Epoch, Order
from penstock.dataset.transforms.concat import ConcatOrder
from penstock.dataset.transforms.interleave import InterleaveOrder
from penstock.dataset.transforms.repeat import RepeatOrder
from penstock.dataset.transforms.select import SelectOrder
from penstock.dataset.transforms.shard import ShardOrder
from penstock.dataset.transforms.shuffle import ShuffleOrder, WindowShuffleOrder
from penstock.dataset.transforms.take_skip import SliceOrder

FIRST = Epoch()


@dataclass(frozen=True)
class Counted:
    """Files of which nothing is known but how many rows they have."""

    counts: tuple[int, ...]
    seekable: bool = True

    @property
    def rows(self) -> int:
        return sum(self.counts)

    def rows_beyond(self, row: int) -> int:
        return self.rows


def walk(order: Order, which: Epoch = FIRST) -> list[int]:
    length = order.length(which)
    assert length is not None
    return order.at(np.arange(length), which).rows.tolist()


def rows(n: int) -> AllRows:
    return AllRows(Counted((n,)))


sizes = st.integers(0, 60)
counts = st.lists(st.integers(0, 12), min_size=1, max_size=6).map(tuple)


@given(sizes, st.integers(0, 70), st.integers(0, 70), st.sampled_from([1, 2, 3, -1, -2]))
def test_a_range_is_that_of_a_list(n, start, stop, step):
    chosen = range(n)[start:stop:step]
    order = SliceOrder(rows(n), chosen.start, chosen.stop, chosen.step)
    assert walk(order) == list(chosen)


@given(st.data(), st.integers(1, 40))
def test_picked_rows_are_those_of_the_list(data, n):
    chosen = data.draw(st.lists(st.integers(0, n - 1)))
    assert walk(SelectOrder(rows(n), np.array(chosen, np.int64))) == chosen


@pytest.mark.parametrize("world", range(1, 8))
@given(n=sizes, seed=st.integers(0, 3))
def test_ranks_part_the_rows_exactly(world, n, seed):
    shares = [walk(ShardOrder(ShuffleOrder(rows(n), seed), rank, world, "keep")) for rank in range(world)]
    assert sorted(row for share in shares for row in share) == list(range(n))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@given(st.integers(1, 60), st.integers(1, 7))
def test_even_shares_drop_or_repeat_fewer_rows_than_there_are_ranks(n, world):
    dropped = [walk(ShardOrder(rows(n), rank, world, "drop")) for rank in range(world)]
    repeated = [walk(ShardOrder(rows(n), rank, world, "repeat")) for rank in range(world)]
    assert len(set(map(len, dropped))) == len(set(map(len, repeated))) == 1
    assert len({row for share in dropped for row in share}) == n - n % world
    assert {row for share in repeated for row in share} == set(range(n))


@given(sizes, st.integers(1, 4), st.integers(1, 4), st.sampled_from(["keep", "drop", "repeat"]))
def test_workers_of_ranks_part_the_share_of_their_rank(n, world, workers, remainder):
    for rank in range(world):
        share = ShardOrder(rows(n), rank, world, remainder)
        parts = [walk(share.divided(worker, workers, "keep")) for worker in range(workers)]
        assert [row for turn in range(n) for part in parts for row in part[turn : turn + 1]] == walk(share)


@given(st.integers(1, 30), st.integers(0, 4), st.integers(0, 5))
def test_repeating_shuffles_each_epoch_anew_as_a_pass_of_its_own(n, times, epoch):
    order = ShuffleOrder(rows(n), 3)
    expected = [row for later in range(times) for row in walk(order, Epoch(epoch + later))]
    assert walk(RepeatOrder(order, times), Epoch(epoch)) == expected


@given(counts, st.one_of(st.none(), st.integers(1, 5)))
def test_files_take_turns(files, cycle):
    expected, first = [], 0
    firsts = np.cumsum([0, *files]).tolist()
    turns = cycle or len(files)
    for first in range(0, len(files), turns):
        waiting = [list(range(firsts[f], firsts[f + 1])) for f in range(first, min(first + turns, len(files)))]
        while any(waiting):
            expected += [queue.pop(0) for queue in waiting if queue]
    assert walk(InterleaveOrder(Counted(files), cycle)) == expected


@given(sizes, sizes, st.integers(0, 3))
def test_joined_orders_follow_each_other(n, m, seed):
    first = ShuffleOrder(rows(n), seed)
    assert walk(ConcatOrder(first, rows(m), Counted((n,)))) == walk(first) + list(range(n, n + m))


@given(counts, st.integers(1, 40), st.integers(0, 3), st.booleans())
def test_a_window_shuffle_is_a_permutation(files, window, seed, seekable):
    found = Counted(files, seekable)
    order = WindowShuffleOrder(AllRows(found), seed, window, found)
    assert sorted(walk(order)) == list(range(sum(files)))
    assert walk(pickle.loads(pickle.dumps(order))) == walk(order)


def test_a_window_on_streams_reads_each_file_forward():
    found = Counted((100, 30, 1, 0, 64), seekable=False)
    walked = walk(WindowShuffleOrder(AllRows(found), 1, 16, found))
    bounds = np.cumsum([0, *found.counts])
    in_order = [np.array([row - first for row in walked if first <= row < end]) for first, end in pairwise(bounds)]
    for mine in in_order:
        for start in range(0, len(mine), 16):
            assert sorted(mine[start : start + 16].tolist()) == list(range(start, min(start + 16, len(mine))))


def test_a_window_reads_large_runs_from_all_over_the_data():
    found = Counted((100_000,))
    walked = np.array(walk(WindowShuffleOrder(AllRows(found), 1, 1600, found)))
    first = np.sort(walked[:1600])
    runs = np.split(first, np.flatnonzero(np.diff(first) != 1) + 1)
    assert len(runs) <= 16
    assert all(len(run) % 100 == 0 for run in runs)
    assert first[-1] - first[0] > 50_000


@given(st.integers(0, 3), st.integers(0, 3), st.integers(1, 5000))
def test_a_position_is_found_without_those_before_it(seed, epoch, n):
    order = ShuffleOrder(rows(n), seed)
    whole = walk(order, Epoch(epoch))
    chosen = np.array([0, n // 2, n - 1])
    assert order.at(chosen, Epoch(epoch)).rows.tolist() == [whole[position] for position in chosen]


@pytest.mark.parametrize("n", [1, 2, 3, 100, 4096, 4097, 5000, 65_536, 65_537, 300_000])
def test_a_shuffle_is_a_permutation(n):
    image = _core.permute(np.arange(n), n, seed=5, epoch=2)
    assert np.array_equal(np.sort(image), np.arange(n))


def test_orders_of_a_saved_run_never_change():
    assert _core.permute(np.arange(8), 8, seed=7, epoch=1).tolist() == [3, 7, 5, 4, 2, 0, 6, 1]
    assert _core.permute(np.arange(4), 10**12, seed=7, epoch=1).tolist() == [
        972935063784,
        109482268259,
        124854329120,
        591975526795,
    ]


def test_a_position_outside_is_refused():
    with pytest.raises(IndexError):
        _core.permute(np.array([3]), 3, seed=0)
    with pytest.raises(IndexError):
        _core.permute(np.array([-1]), 3, seed=0)


def test_all_orders_of_few_rows_are_equally_likely():
    seen = Counter(tuple(_core.permute(np.arange(4), 4, seed=seed).tolist()) for seed in range(24_000))
    assert set(seen) == set(permutations(range(4)))
    assert chi_squared(list(seen.values())) < 60  # 23 degrees of freedom: above in one of 30,000 runs


@pytest.mark.parametrize("n", [1000, 20_000])
def test_a_row_comes_anywhere_and_beside_any_other(n):
    first, moved, ascents = np.zeros(10), np.zeros(10), []
    for seed in range(300):
        image = _core.permute(np.arange(n), n, seed=seed)
        first += np.histogram(image[: n // 10], 10, (0, n))[0]  # where the first tenth comes from
        moved += np.histogram((image[1:] - image[:-1]) % n, 10, (0, n))[0]  # how far neighbours are apart
        ascents.append(int((image[1:] > image[:-1]).sum()))
    assert chi_squared(first.tolist()) < 45  # 9 degrees of freedom
    assert chi_squared(moved.tolist()) < 45
    # Half of all neighbours ascend, with a variance of (n + 1) / 12.
    assert abs(np.mean(ascents) - (n - 1) / 2) < 5 * np.sqrt((n + 1) / 12 / len(ascents))


def test_orders_of_seeds_epochs_and_streams_have_nothing_in_common():
    n = 10_000
    images = [
        _core.permute(np.arange(n), n, seed=seed, epoch=epoch, stream=stream)
        for seed in range(3)
        for epoch in range(3)
        for stream in range(3)
    ]
    for i, one in enumerate(images):
        for other in images[:i]:
            assert (one == other).sum() < 10  # one is expected, ten come once in ten million
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.06


def chi_squared(observed: list[float]) -> float:
    expected = sum(observed) / len(observed)
    return sum((value - expected) ** 2 / expected for value in observed)
