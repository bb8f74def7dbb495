"""shard(): ranks divide the elements among them."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from flows import Source, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA, TOTAL, ids
from orders import FIRST, Counted, dealt, rows, sizes, walk

import penstock as ps
from penstock.dataset.order import Epoch
from penstock.dataset.transforms.repeat import RepeatOrder
from penstock.dataset.transforms.shard import Runs, ShardOrder, ShardStage
from penstock.dataset.transforms.shuffle import ShuffleOrder


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


RUNS = st.integers(1, 9)


def share_of(n: int, rank: int, world: int, run: int, remainder: str = "keep", repeated: bool = False) -> ShardOrder:
    inner = RepeatOrder(rows(n), 2) if repeated else rows(n)
    return ShardOrder(inner, rank, world, remainder, Runs(Counted((n,), rows_per_run=run)))


@given(sizes, st.integers(1, 5), RUNS)
def test_a_rank_takes_a_run_in_each_round_and_an_even_part_of_the_last(n, world, run):
    shares = [walk(share_of(n, rank, world, run)) for rank in range(world)]
    assert shares == [dealt(list(range(n)), rank, world, run) for rank in range(world)]
    assert sorted(row for share in shares for row in share) == list(range(n))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@given(sizes, st.integers(1, 5), RUNS, st.integers(0, 8))
def test_steps_of_a_run_consume_a_prefix(n, world, run, steps):
    shares = [walk(share_of(n, rank, world, run)) for rank in range(world)]
    seen = sorted(row for share in shares for row in share[: steps * run])
    assert seen == list(range(len(seen)))


@given(st.integers(1, 60), st.integers(1, 5), RUNS)
def test_even_shares_in_runs_drop_or_repeat_fewer_rows_than_there_are_ranks(n, world, run):
    dropped = [walk(share_of(n, rank, world, run, "drop")) for rank in range(world)]
    repeated = [walk(share_of(n, rank, world, run, "repeat")) for rank in range(world)]
    assert len(set(map(len, dropped))) == len(set(map(len, repeated))) == 1
    assert sorted(row for share in dropped for row in share) == list(range(n - n % world))
    assert {row for share in repeated for row in share} == set(range(n))


@given(st.data(), sizes, RUNS, st.booleans())
def test_any_number_of_ranks_resumes_shares_in_runs_as_often_as_it_likes(data, n, run, repeated):
    left, which = (2 if repeated else 1) * list(range(n)), FIRST
    for _ in range(data.draw(st.integers(1, 4))):
        world = data.draw(st.integers(1, 5))
        shares = [share_of(n, rank, world, run, repeated=repeated) for rank in range(world)]
        parts = [walk(share, which) for share in shares]
        assert sorted(row for part in parts for row in part) == sorted(left)
        step = data.draw(st.integers(0, max(map(len, parts))))
        left = [row for part in parts for row in part[step:]]
        epoch, origin = shares[0].common_place(step, which)
        which = Epoch(epoch, json.loads(json.dumps(origin)))


@given(sizes, st.integers(1, 4), st.integers(1, 4), RUNS)
def test_workers_part_a_share_in_runs(n, world, workers, run):
    for rank in range(world):
        share = share_of(n, rank, world, run)
        parts = [walk(share.divided(worker, workers, "keep")) for worker in range(workers)]
        assert sorted(row for part in parts for row in part) == sorted(walk(share))


@given(st.data(), sizes, st.integers(1, 3), st.integers(1, 3), RUNS)
def test_shares_of_workers_are_resumed_exactly_or_raise(data, n, world, workers, run):
    every = [share_of(n, r, world, run).divided(w, workers, "keep") for r in range(world) for w in range(workers)]
    step = data.draw(st.integers(0, max(map(len, map(walk, every)))))
    left = sorted(row for share in every for row in walk(share)[step:])
    try:
        which = Epoch(*every[0].common_place(step, FIRST))
    except ps.StateError:
        assert (step // run + 1) * run * world * workers > n
        return
    assert sorted(row for rank in range(2) for row in walk(share_of(n, rank, 2, run), which)) == left


@relaxed
@given(sources(), st.integers(1, 7))
def test_strides_partition_the_elements(source: Source, world: int):
    for rank in range(world):
        stage = ShardStage(rank, world)
        assert elements_of(stage, source) == source.rows()[rank::world]
        assert stage.length(len(source)) == len(source.rows()[rank::world])
        check_resumes(stage, source)


def test_ranks_and_workers_part_the_records(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).shuffle(seed=9)
    for world in range(1, 8):
        for workers in range(1, 8):
            shares = [ids(ds.shard(r, world).shard(w, workers).epoch(0)) for r in range(world) for w in range(workers)]
            assert sorted(number for share in shares for number in share) == list(range(TOTAL))


@pytest.mark.parametrize("kind", ["plain", "members"])
@pytest.mark.parametrize("size", [None, 1, 3])
def test_shares_of_unshuffled_rows_are_resumed_by_any_number_of_ranks(kind, size, shards):
    ds = ps.Dataset(shards(kind), schema=SCHEMA)

    def elements(share):
        return share if size is None else share.batch(size)

    def numbers(element):
        return np.atleast_1d(element["id"]).tolist()

    for then, steps, now in [(1, 5, 2), (2, 0, 3), (2, 1, 1), (2, 3, 3), (4, 2, 2), (3, 3, 5)]:
        seen, rest = [], []
        for rank in range(then):
            with iter(elements(ds.shard(rank, then))) as it:
                seen += [number for element in islice(it, steps) for number in numbers(element)]
                state = json.loads(json.dumps(it.state_dict()))
        for rank in range(now):
            with iter(elements(ds.shard(rank, now))) as it:
                it.load_state_dict(state)
                rest += [number for element in it for number in numbers(element)]
        assert sorted(seen + rest) == list(range(TOTAL)), (then, steps, now)


def test_batches_are_the_runs_of_a_share(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    batches = [[batch["id"].tolist() for batch in ds.shard(rank, 2).batch(6)] for rank in range(2)]
    assert batches[0] == [list(range(0, 6)), list(range(12, 18)), [24]]
    assert batches[1] == [list(range(6, 12)), list(range(18, 24))]


def test_a_share_reads_its_own_part_of_a_file(tmp_path: Path):
    ps.write(tmp_path / "data", {"id": np.arange(40), "text": ["x" * 100_000] * 40})
    file = next(tmp_path.glob("*.tfrecord"))
    content = bytearray(file.read_bytes())
    ds = ps.Dataset(tmp_path / "data")
    assert ids(ds.shard(0, 4)) == dealt(list(range(40)), 0, 4, 10)
    content[len(content) // 2] ^= 1  # in row 20, of rank 2
    file.write_bytes(content)
    assert [ids(ds.shard(rank, 4)) for rank in (0, 1, 3)] == [dealt(list(range(40)), rank, 4, 10) for rank in (0, 1, 3)]
    with pytest.raises(ps.CorruptDataError):
        ids(ds.shard(2, 4))


def test_arguments_of_shard_in_the_order_of_tf_data_raise(written: Path):
    with pytest.raises(ValueError, match=r"shard\(rank, world\) .* not 4 \(tf.data takes them in the other order\)"):
        ps.Dataset(written / "train").shard(4, 1)
