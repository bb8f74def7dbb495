"""take(), skip() and slices, against lists."""

from __future__ import annotations

import pytest
from flows import Source, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from orders import rows, sizes, walk

from penstock.dataset.progress import Meter
from penstock.dataset.transforms.repeat import RepeatStage
from penstock.dataset.transforms.shard import ShardStage
from penstock.dataset.transforms.take_skip import SkipStage, SliceOrder, TakeStage


@relaxed
@given(sources(), st.integers(0, 35))
def test_take_and_skip_are_slices(source: Source, count: int):
    for stage, expected in ((TakeStage(count), source.rows()[:count]), (SkipStage(count), source.rows()[count:])):
        assert elements_of(stage, source) == expected
        assert stage.length(len(source)) == len(expected)
        check_resumes(stage, source)
    assert source.all_closed()


def test_what_is_not_taken_is_not_read():
    source = Source([2, 2], fails_after=1)
    assert len(elements_of(TakeStage(2), source)) == 2
    assert elements_of(TakeStage(0), Source([1], fails_after=0)) == []


@relaxed
@given(sources(), st.integers(0, 9), st.integers(0, 9), st.integers(1, 3))
def test_stages_follow_one_another(source: Source, skip: int, take: int, times: int):
    skipped, taken, repeated = SkipStage(skip), TakeStage(take), RepeatStage(times)

    def upstream(cursor: object):
        return taken.open(lambda cursor: skipped.open(source, cursor, Meter()), cursor, Meter())

    rows = [row for epoch in range(times) for row in source.rows(epoch)[skip:][:take]]
    assert elements_of(repeated, upstream) == rows
    check_resumes(repeated, upstream)


def test_invalid_arguments_raise():
    for refused in (lambda: TakeStage(-1), lambda: SkipStage(-1), lambda: ShardStage(2, 2), lambda: RepeatStage(-1)):
        with pytest.raises(ValueError, match=r"not -?\d"):
            refused()


@given(sizes, st.integers(0, 70), st.integers(0, 70), st.sampled_from([1, 2, 3, -1, -2]))
def test_a_range_is_that_of_a_list(n, start, stop, step):
    chosen = range(n)[start:stop:step]
    order = SliceOrder(rows(n), chosen.start, chosen.stop, chosen.step)
    assert walk(order) == list(chosen)
