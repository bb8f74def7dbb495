"""Rows, windows and chunks are counted as a loop over the steps of episodes counts them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.rlds.windows import RowPlan


@given(
    lengths=st.lists(st.integers(0, 6), max_size=6),
    window=st.integers(1, 4),
    horizon=st.integers(1, 4),
    pad=st.sampled_from(["repeat", "drop"]),
)
def test_rows_and_the_steps_around_them(lengths: list[int], window: int, horizon: int, pad: str):
    plan = RowPlan(np.array(lengths, np.int64), window, horizon, pad)
    rows = [
        (episode, step)
        for episode, length in enumerate(lengths)
        for step in range(length)
        if pad == "repeat" or (step >= window - 1 and step + horizon <= length)
    ]
    assert plan.rows == len(rows)
    episodes, steps = plan.locate(np.arange(len(rows)))
    assert list(zip(episodes.tolist(), steps.tolist(), strict=True)) == rows
    for around, found in (
        (range(1 - window, 1), plan.windows(episodes, steps)),
        (range(horizon), plan.chunks(episodes, steps)),
    ):
        for (episode, step), places, exist in zip(rows, found.steps, found.exist, strict=True):
            wanted = [step + offset for offset in around]
            assert exist.tolist() == [0 <= place < lengths[episode] for place in wanted]
            assert places.tolist() == [min(max(place, 0), lengths[episode] - 1) for place in wanted]
