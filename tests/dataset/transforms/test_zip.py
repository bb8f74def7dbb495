"""zip(): tuples of elements."""

from __future__ import annotations

from flows import Source, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA, TOTAL

import penstock as ps
from penstock.dataset.transforms.zip import ZipFlow

several = st.lists(sources(12), min_size=1, max_size=3)


NOTHING = Source([])


@relaxed
@given(several)
def test_zip_gives_tuples_until_the_shortest_ends(children: list[Source]):
    flow = ZipFlow(children).open
    assert elements_of(flow, NOTHING) == list(zip(*(child.rows() for child in children), strict=False))
    check_resumes(flow, NOTHING)
    assert all(child.all_closed() for child in children)


def test_pairs_are_read_at_random_and_shuffled_together(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    pairs = ds.zip(ds[3:], ds.map(lambda row: int(row["id"]) * 10))
    assert len(pairs) == TOTAL - 3
    assert [(int(a["id"]), int(b["id"]), c) for a, b, c in pairs] == [(i, i + 3, i * 10) for i in range(TOTAL - 3)]
    assert pairs[4][2] == 40
    shuffled = [(int(a["id"]), int(b["id"]), c) for a, b, c in pairs.shuffle(seed=1)]
    assert shuffled != sorted(shuffled)
    assert sorted(shuffled) == [(i, i + 3, i * 10) for i in range(TOTAL - 3)]
