"""interleave(): files take turns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from orders import Counted, counts, walk

from penstock.dataset.transforms.interleave import InterleaveOrder


@given(counts, st.one_of(st.none(), st.integers(1, 5)))
def test_files_take_turns(files, cycle):
    expected, first = [], 0
    firsts = np.cumsum([0, *files]).tolist()
    turns = cycle or len(files)
    for first in range(0, len(files), turns):
        waiting = [list(range(firsts[f], firsts[f + 1])) for f in range(first, min(first + turns, len(files)))]
        while any(waiting):
            expected += [queue.pop(0) for queue in waiting if queue]
    assert walk(InterleaveOrder(Counted(files), cycle)) == expected
