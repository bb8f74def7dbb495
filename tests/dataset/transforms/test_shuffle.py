"""shuffle(): permutations of all rows and of windows, and what makes them good ones."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from flows import Source, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA, TOTAL, ids
from orders import Counted, counts, rows, walk

import penstock as ps
from penstock import _core
from penstock.dataset.order import AllRows, Epoch
from penstock.dataset.transforms.shuffle import ShuffleOrder, WindowShuffleOrder, WindowShuffleStage


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


def test_a_position_outside_raises():
    with pytest.raises(IndexError):
        _core.permute(np.array([3]), 3, seed=0)
    with pytest.raises(IndexError):
        _core.permute(np.array([-1]), 3, seed=0)


def test_all_orders_of_few_rows_are_equally_likely():
    seen = Counter(tuple(_core.permute(np.arange(4), 4, seed=seed).tolist()) for seed in range(24_000))
    assert set(seen) == set(permutations(range(4)))
    assert chi_squared(list(seen.values())) < 60  # 23 degrees of freedom: above in one of 30,000 runs


@pytest.mark.parametrize("n", [1000, 20_000])
def test_a_row_comes_anywhere_and_next_to_any_other(n):
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


@relaxed
@given(sources(), st.integers(1, 25), st.integers(0, 9))
def test_a_window_is_a_permutation_of_its_elements(source: Source, window: int, seed: int):
    stage = WindowShuffleStage(seed, window)
    seen = [row["n"] for row in elements_of(stage, source)]
    for start in range(0, len(source), window):
        stop = min(start + window, len(source))
        assert sorted(seen[start:stop]) == list(range(start, stop))
    check_resumes(stage, source)
    assert source.all_closed()


def test_the_order_depends_on_seed_epoch_and_window():
    source = Source([7] * 10)

    def order(seed: int, epoch: int) -> list[int]:
        return [row["n"] for row in elements_of(WindowShuffleStage(seed, 35), source, {"epoch": epoch})]

    assert order(1, 0) != order(2, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0)[:35] != [n - 35 for n in order(1, 0)[35:]]


def test_a_shuffle_after_a_cache_on_disk_suggests_a_window(shards, tmp_path: Path):
    cached = ps.Dataset(shards("plain"), schema=SCHEMA).cache(tmp_path)
    with pytest.raises(TypeError, match=r"before .* cache\(\); after them, shuffle\(seed=7, window=10_000\) mixes"):
        cached.shuffle(seed=7)
    assert sorted(ids(cached.shuffle(seed=7, window=10_000))) == list(range(TOTAL))


def test_a_shuffle_buffer_of_tf_data_raises_with_what_to_write(written: Path):
    with pytest.raises(TypeError, match=r"no buffer size: .* shuffle\(seed=\.\.\., window=1000\)"):
        ps.Dataset(written / "train").shuffle(1000)
