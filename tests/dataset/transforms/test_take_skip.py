"""Taken, Skipped, Strided and RepeatedFlow against lists."""

from __future__ import annotations

from itertools import islice

import pytest
from flows import Source, blocks_of, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st

from penstock.dataset.block import each
from penstock.dataset.progress import Meter
from penstock.dataset.transforms.filter import FilterStage
from penstock.dataset.transforms.repeat import RepeatStage
from penstock.dataset.transforms.shard import ShardStage
from penstock.dataset.transforms.take_skip import SkipStage, TakeStage


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
@given(sources(), st.integers(1, 7))
def test_strides_partition_the_elements(source: Source, world: int):
    for rank in range(world):
        stage = ShardStage(rank, world)
        assert elements_of(stage, source) == source.rows()[rank::world]
        assert stage.length(len(source)) == len(source.rows()[rank::world])
        check_resumes(stage, source)


@relaxed
@given(sources(), st.integers(0, 3), st.integers(0, 2))
def test_each_repetition_is_the_next_epoch(source: Source, times: int, first: int):
    expected = [row for epoch in range(first, first + times) for row in source.rows(epoch)]
    stage = RepeatStage(times)
    assert elements_of(stage, source, {"epoch": first}) == expected
    assert stage.length(len(source)) == len(expected)
    check_resumes(stage, source)
    assert source.all_closed()


def test_without_a_number_it_never_ends():
    flow = blocks_of(RepeatStage(), Source([2, 1]))
    seen = [plain(element) for block in islice(flow, 5) for element in each(block.elements)]
    assert [(row["epoch"], row["n"]) for row in seen] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 0),
        (2, 1),
    ]
    check_resumes(RepeatStage(), Source([2, 1]), most=7)


def test_nothing_repeated_without_end_ends():
    assert elements_of(RepeatStage(), Source([])) == []
    nothing = FilterStage(lambda element: False)
    source = Source([2])
    assert elements_of(RepeatStage(), lambda cursor: nothing.open(source, cursor, Meter())) == []


@relaxed
@given(sources(), st.integers(0, 9), st.integers(0, 9), st.integers(1, 3))
def test_stages_stand_behind_one_another(source: Source, skip: int, take: int, times: int):
    skipped, taken, repeated = SkipStage(skip), TakeStage(take), RepeatStage(times)

    def upstream(cursor: object):
        return taken.open(lambda cursor: skipped.open(source, cursor, Meter()), cursor, Meter())

    rows = [row for epoch in range(times) for row in source.rows(epoch)[skip:][:take]]
    assert elements_of(repeated, upstream) == rows
    check_resumes(repeated, upstream)


def test_what_cannot_be_is_refused():
    for refused in (lambda: TakeStage(-1), lambda: SkipStage(-1), lambda: ShardStage(2, 2), lambda: RepeatStage(-1)):
        with pytest.raises(ValueError, match=r"not -?\d"):
            refused()
