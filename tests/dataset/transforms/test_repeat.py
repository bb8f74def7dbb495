"""repeat(): each repetition is the next epoch."""

from __future__ import annotations

from itertools import islice

from flows import Source, blocks_of, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from orders import rows, walk

from penstock.dataset.block import iter_elements
from penstock.dataset.order import Epoch
from penstock.dataset.progress import Meter
from penstock.dataset.transforms.filter import FilterStage
from penstock.dataset.transforms.repeat import RepeatOrder, RepeatStage
from penstock.dataset.transforms.shuffle import ShuffleOrder


@given(st.integers(1, 30), st.integers(0, 4), st.integers(0, 5))
def test_each_repetition_is_shuffled_like_its_epoch(n, times, epoch):
    order = ShuffleOrder(rows(n), 3)
    expected = [row for later in range(times) for row in walk(order, Epoch(epoch + later))]
    assert walk(RepeatOrder(order, times), Epoch(epoch)) == expected


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
    seen = [plain(element) for block in islice(flow, 5) for element in iter_elements(block.elements)]
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
