"""Bucketed against a plain model: which batches come, in which order, and from where they go on."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import pytest
from flows import Source, blocks_of, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st

from penstock.dataset.progress import Meter
from penstock.dataset.transforms.batch import Pad
from penstock.dataset.transforms.bucket import BucketStage
from penstock.dataset.transforms.filter import FilterStage


def token_count(element: dict[str, Any]) -> int:
    return len(element["tokens"])


def is_odd(element: dict[str, Any]) -> bool:
    return bool(element["n"] % 2)


def model(rows: list[Any], boundaries: list[int], sizes: list[int], drop_last: bool) -> list[Any]:
    buckets: list[list[Any]] = [[] for _ in sizes]
    batches = []
    for row in rows:
        which = bisect_right(boundaries, len(row["tokens"]))
        buckets[which].append(row)
        if len(buckets[which]) == sizes[which]:
            batches.append(buckets[which])
            buckets[which] = []
    return batches + [bucket for bucket in buckets if bucket and not drop_last]


boundaries = st.lists(st.integers(0, 5), max_size=3, unique=True).map(sorted)


@relaxed
@given(sources(), boundaries, st.data(), st.booleans(), st.sampled_from(["tokens", token_count]))
def test_batches_are_those_of_the_model(
    source: Source, boundaries: list[int], data: st.DataObject, drop_last: bool, key: Any
):
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=len(boundaries) + 1, max_size=len(boundaries) + 1))
    stage = BucketStage(boundaries, sizes, key=key, drop_last=drop_last)
    assert elements_of(stage, source) == model(source.rows(), boundaries, sizes, drop_last)
    check_resumes(stage, source)
    assert source.all_closed()


@relaxed
@given(sources())
def test_buckets_fill_after_a_filter(source: Source):
    odd = FilterStage(is_odd)
    stage = BucketStage([2], 3, key="tokens")

    def upstream(cursor: object):
        return odd.open(source, cursor, Meter())

    assert elements_of(stage, upstream) == model(source.rows()[1::2], [2], [3, 3], False)
    check_resumes(stage, upstream)


def test_the_state_names_only_what_waits():
    stage = BucketStage([1], [1000, 1], key="tokens")
    *_, last = blocks_of(stage, Source([5] * 20))
    before = list(blocks_of(stage, Source([5] * 20)))[-2]
    assert sum(len(positions) for _, positions in before.stop["waiting"]) == 20
    assert last.stop["waiting"] == []


def test_buckets_are_padded_to_their_own_longest():
    widths = [
        block.elements[0]["tokens"].shape
        for block in blocks_of(BucketStage([3], 2, key="tokens", pad=True), Source([5, 5]))
    ]
    assert widths == [(2, 1), (2, 4), (2, 2), (2, 2), (2, 4)]
    fixed = BucketStage([3], 2, key="tokens", pad={"tokens": Pad(0, 4)})
    assert {block.elements[0]["tokens"].shape for block in blocks_of(fixed, Source([5, 5]))} == {(2, 4)}


@pytest.mark.parametrize(("boundaries", "sizes"), [([2, 1], 1), ([1], [1]), ([1], 0), ([1], [1, 0])])
def test_invalid_arguments_raise(boundaries: list[int], sizes: Any):
    with pytest.raises(ValueError, match=r"boundaries must increase|need \d sizes"):
        BucketStage(boundaries, sizes, key="tokens")
