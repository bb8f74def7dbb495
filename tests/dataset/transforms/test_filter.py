"""filter(): the elements that a function chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st

from penstock.dataset.transforms.filter import FilterStage


def is_odd(element: dict[str, Any]) -> bool:
    return bool(element["n"] % 2)


@relaxed
@given(sources(), st.integers(0, 3))
def test_filter_keeps_elements_as_they_are(source: Source, workers: int):
    stage = FilterStage(is_odd, workers=workers)
    assert elements_of(stage, source) == [row for row in source.rows() if row["n"] % 2]
    check_resumes(stage, source)
    assert source.all_closed()


def test_filtered_columns_stay_columns():
    blocks = list(blocks_of(FilterStage(is_odd), Source([4, 1, 3])))
    assert [block.elements["n"].tolist() for block in blocks] == [[1, 3], [5, 7]]


def test_a_filter_may_drop_everything():
    assert elements_of(FilterStage(lambda element: False), Source([3, 2])) == []


def test_a_function_that_returns_no_truth_value_is_named():
    with pytest.raises(ValueError, match="ambiguous") as caught:
        elements_of(FilterStage(lambda element: np.zeros(2)), Source([1]))
    assert "row 0" in caught.value.__notes__[0]
