"""concat(): one dataset after another."""

from __future__ import annotations

from flows import Source, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA, TOTAL, ids
from orders import Counted, rows, sizes, walk

import penstock as ps
from penstock.dataset.transforms.concat import ConcatFlow, ConcatOrder
from penstock.dataset.transforms.shuffle import ShuffleOrder


@given(sizes, sizes, st.integers(0, 3))
def test_joined_orders_follow_each_other(n, m, seed):
    first = ShuffleOrder(rows(n), seed)
    assert walk(ConcatOrder(first, rows(m), Counted((n,)))) == walk(first) + list(range(n, n + m))


several = st.lists(sources(12), min_size=1, max_size=3)


NOTHING = Source([])


@relaxed
@given(several, st.integers(0, 2))
def test_flows_follow_one_another(children: list[Source], epoch: int):
    flow = ConcatFlow(children).open
    expected = [row for child in children for row in child.rows(epoch)]
    assert elements_of(flow, NOTHING, {"epoch": epoch}) == expected
    check_resumes(flow, NOTHING)
    assert all(child.all_closed() for child in children)


def test_concatenated_datasets_are_shuffled_as_one(shards, tmp_path):
    first = ps.Dataset(shards("plain"), schema=SCHEMA)
    joined = first.concat(first[:3], first.shuffle(seed=1))
    assert len(joined) == 2 * TOTAL + 3
    assert ids(joined) == [*range(TOTAL), 0, 1, 2, *ids(first.shuffle(seed=1))]
    assert sorted(ids(joined.shuffle(seed=5))) == sorted(ids(joined))
