"""select(): elements at given positions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from orders import rows, walk

from penstock.dataset.transforms.select import SelectOrder


@given(st.data(), st.integers(1, 40))
def test_picked_rows_are_those_of_the_list(data, n):
    chosen = data.draw(st.lists(st.integers(0, n - 1)))
    assert walk(SelectOrder(rows(n), np.array(chosen, np.int64))) == chosen
