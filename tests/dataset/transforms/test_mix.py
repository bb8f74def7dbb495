"""mix(): elements drawn from several datasets by weights."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import KINDS, SCHEMA, ids

import penstock as ps
from penstock.columns import Batch
from penstock.dataset.block import iter_elements
from penstock.dataset.progress import Meter
from penstock.dataset.transforms.batch import BatchStage
from penstock.dataset.transforms.mix import MixFlow

several = st.lists(sources(12), min_size=1, max_size=3)


NOTHING = Source([])


def taken_from(flow: Any, most: int) -> list[tuple[int, Any]]:
    """The number of the child and the row of each element of a mix."""
    seen: list[tuple[int, Any]] = []
    for block in islice(blocks_of(flow, NOTHING), most):
        rows = [plain(element) for element in iter_elements(block.elements)]
        seen += zip((block.keys.rows >> 52).tolist(), rows, strict=True)
    return seen


@relaxed
@given(several, st.data(), st.integers(0, 5), st.sampled_from(["first", "all"]))
def test_a_mix_keeps_the_order_of_each_child(children: list[Source], data: st.DataObject, seed: int, stop: Any):
    weights = data.draw(st.lists(st.floats(0.1, 9), min_size=len(children), max_size=len(children)))
    mixed = MixFlow(children, weights=weights, seed=seed, stop=stop)
    seen = taken_from(mixed.open, 1000)
    ended = 0
    for number, child in enumerate(children):
        mine = [row for which, row in seen if which == number]
        assert mine == child.rows()[: len(mine)]
        ended += len(mine) == len(child)
    assert ended >= (len(children) if stop == "all" else 1)
    check_resumes(mixed.open, NOTHING)
    assert all(child.all_closed() for child in children)


def test_a_mix_does_not_depend_on_the_sizes_of_blocks():
    one = MixFlow([Source([10] * 20), Source([200])], weights=[1, 2], seed=3)
    two = MixFlow([Source([200]), Source([7] * 28 + [4])], weights=[1, 2], seed=3)
    assert taken_from(one.open, 1000) == taken_from(two.open, 1000)


def test_a_mix_without_end_starts_children_again():
    children = [Source([2]), Source([3, 2])]
    mixed = MixFlow(children, weights=[1, 1], seed=1, stop="never")
    seen = taken_from(mixed.open, 30)
    mine = [(row["epoch"], row["n"]) for which, row in seen if which == 0]
    assert len(mine) > 6
    assert mine == [(number // 2, number % 2) for number in range(len(mine))]
    check_resumes(mixed.open, NOTHING)
    with pytest.raises(ValueError, match="dataset 0 of the mix is empty"):
        elements_of(MixFlow([Source([])], weights=[1], seed=0, stop="never").open, NOTHING)


def test_weights_decide_how_often_a_child_is_chosen():
    mixed = MixFlow([Source([1000] * 3), Source([1000] * 3)], weights=[1, 3], seed=5, stop="all")
    counts = Counter(which for which, _ in taken_from(mixed.open, 1000)[:3000])
    assert 650 < counts[0] < 850


def test_epochs_and_seeds_mix_in_another_way():
    children = [Source([50]), Source([50])]

    def order(seed: int, epoch: int) -> list[int]:
        flow = blocks_of(MixFlow(children, weights=[1, 1], seed=seed).open, NOTHING, {"epoch": epoch})
        return [row >> 52 for block in flow for row in block.keys.rows.tolist()]

    assert order(1, 0) == order(1, 0) != order(2, 0)
    assert order(1, 0) != order(1, 1)


def test_columns_of_the_same_names_stay_columns():
    blocks = list(blocks_of(MixFlow([Source([5]), Source([5])], weights=[1, 1], seed=1, stop="all").open, NOTHING))
    assert all(isinstance(block.elements, Batch) for block in blocks)


def test_batches_are_mixed_too():
    batched = BatchStage(2)
    children = [
        lambda cursor, child=child: batched.open(child, cursor, Meter()) for child in (Source([4]), Source([6]))
    ]
    mixed = MixFlow(children, weights=[1, 1], seed=1, stop="all")
    assert sorted(len(batch) for batch in elements_of(mixed.open, NOTHING)) == [2] * 5
    check_resumes(mixed.open, NOTHING)


def test_a_mixture_draws_by_weights_and_ends_as_asked(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    low, high = ds.map(lambda row: 0).repeat(), ds.map(lambda row: 1).repeat()
    drawn = list(low.mix(high, weights=[1, 3], seed=5).take(4000))
    assert 2800 < sum(drawn) < 3200
    assert drawn == list(low.mix(high, weights=[1, 3], seed=5).take(4000))
    ended = ids(ds[:5].mix(ds[10:15], weights=[1, 1], seed=1, stop="all"))
    assert sorted(ended) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]


@pytest.mark.parametrize("kind", KINDS)
@relaxed
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(13, 25)), min_size=1, max_size=3), st.data())
def test_a_mix_by_index_is_that_of_the_flows(
    kind: str, shards: Any, bounds: list[tuple[int, int]], data: st.DataObject
):
    ds = ps.Dataset(shards(kind), schema=SCHEMA)
    parts = [ds[start:stop] for start, stop in bounds]
    weights = data.draw(st.lists(st.floats(0.2, 5), min_size=len(parts), max_size=len(parts)))
    stop = data.draw(st.sampled_from(["first", "all", "never"]))
    mixed = parts[0].mix(*parts[1:], weights=weights, seed=data.draw(st.integers(0, 9)), stop=stop)
    flow = [int(row["id"]) for row in islice(mixed.epoch(0), 90)]
    indexed = mixed.take(90)
    assert ids(indexed.epoch(0)) == flow
    assert len(indexed) == len(flow)
    if kind != "stream":
        assert [int(indexed[i]["id"]) for i in range(len(flow))] == flow
    if stop != "never":
        assert len(mixed) == len(flow)


@pytest.mark.parametrize("stop", ["first", "all"])
@pytest.mark.parametrize(("then", "now"), [(2, 3), (3, 1), (1, 2)])
def test_a_mix_resumes_with_another_number_of_ranks(stop, then, now, shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    mixed = ds[:11].shuffle(seed=1).mix(ds[11:], weights=[1, 2], seed=3, stop=stop)
    seen, rest = [], []
    for rank in range(then):
        it = iter(mixed.shard(rank, then))
        seen += [int(next(it)["id"]) for _ in range(2)]
        state = json.loads(json.dumps(it.state_dict()))
    for rank in range(now):
        it = iter(mixed.shard(rank, now))
        it.load_state_dict(state)
        rest += [int(row["id"]) for row in it]
    assert sorted(seen + rest) == sorted(ids(mixed.epoch(0)))


def test_a_mix_of_several_stretches_has_random_access(tmp_path):
    ps.write(tmp_path / "a", {"id": np.arange(4000)})
    ds = ps.Dataset(tmp_path / "a")
    mixed = ds[:3000].mix(ds[3000:], weights=[2, 1], seed=1, stop="all")
    flow = ids(mixed.epoch(0))
    positions = np.random.default_rng(0).permutation(4000)[:50]
    assert [int(mixed[:][int(i)]["id"]) for i in positions] == [flow[i] for i in positions]
    assert sorted(ids(mixed.shuffle(seed=1))) == list(range(4000))
