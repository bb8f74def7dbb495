"""shard(): ranks divide the elements among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from flows import Source, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA, TOTAL, ids
from orders import rows, sizes, walk

import penstock as ps
from penstock.dataset.transforms.shard import ShardOrder, ShardStage
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


def test_arguments_of_shard_in_the_order_of_tf_data_raise(written: Path):
    with pytest.raises(ValueError, match=r"shard\(rank, world\) .* not 4 \(tf.data takes them in the other order\)"):
        ps.Dataset(written / "train").shard(4, 1)
