"""The histogram of numbers whose range is not known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example as hypothesis_example
from hypothesis import given
from hypothesis import strategies as st

from penstock.inspect.histogram import Histogram


@hypothesis_example([[2.2250738585072014e-308], [4.0]])
@given(st.lists(st.lists(st.floats(-1e300, 1e300), max_size=20), max_size=5))
def test_a_histogram_counts_every_value_in_its_bin(batches: list[list[float]]):
    histogram = Histogram(integers=False)
    for batch in batches:
        histogram.add(np.array(batch, np.float64))
    values = sorted(value for batch in batches for value in batch)
    found = histogram._document()
    if not values:
        assert found is None
        return
    assert found is not None
    assert sum(found["counts"]) == len(values)
    assert len(str(histogram)) <= 16
    stop = found["start"] + found["width"] * len(found["counts"])
    assert found["start"] <= values[0]
    assert values[-1] <= stop


@pytest.mark.parametrize(
    ("numbers", "bars"), [([0, 1, 2, 2], "▄▄█"), ([5], "█"), ([0, 0, 3], "█  ▄"), ([-1, 1], "█ █")]
)
def test_small_integers_have_a_bar_each(numbers: list[int], bars: str):
    histogram = Histogram(integers=True)
    histogram.add(np.array(numbers, np.float64))
    assert str(histogram) == bars
