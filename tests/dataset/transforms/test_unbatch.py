"""WindowShuffled and Unbatched."""

from __future__ import annotations

import numpy as np
from flows import Source, blocks_of, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st

from penstock.dataset.progress import Meter
from penstock.dataset.transforms.batch import BatchStage
from penstock.dataset.transforms.map import MapStage
from penstock.dataset.transforms.shuffle import WindowShuffleStage
from penstock.dataset.transforms.unbatch import UnbatchStage


@relaxed
@given(sources(), st.integers(1, 25), st.integers(0, 9))
def test_a_window_is_a_permutation_of_its_elements(source: Source, window: int, seed: int):
    stage = WindowShuffleStage(seed, window)
    seen = [row["n"] for row in elements_of(stage, source)]
    for start in range(0, len(source), window):
        stop = min(start + window, len(source))
        assert sorted(seen[start:stop]) == list(range(start, stop))
    check_resumes(stage, source)
    assert source.all_closed()


def test_the_order_depends_on_seed_epoch_and_window():
    source = Source([7] * 10)

    def order(seed: int, epoch: int) -> list[int]:
        return [row["n"] for row in elements_of(WindowShuffleStage(seed, 35), source, {"epoch": epoch})]

    assert order(1, 0) != order(2, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0)[:35] != [n - 35 for n in order(1, 0)[35:]]


@relaxed
@given(sources(), st.integers(1, 5))
def test_unbatch_undoes_batch(source: Source, size: int):
    batched, stage = BatchStage(size), UnbatchStage()

    def upstream(cursor: object):
        return batched.open(source, cursor, Meter())

    assert elements_of(stage, upstream) == source.rows()
    check_resumes(stage, upstream)
    keys = [row for block in blocks_of(stage, upstream) for row in block.keys.rows.tolist()]
    assert len(set(keys)) == len(keys)


def test_rows_of_other_batches():
    batched = BatchStage(2)
    source = Source([4])

    def made(fn: object):
        stage = MapStage(fn)
        return lambda cursor: stage.open(lambda cursor: batched.open(source, cursor, Meter()), cursor, Meter())

    assert elements_of(UnbatchStage(), made(lambda batch: {"n": batch["n"]})) == [{"n": n} for n in range(4)]
    assert elements_of(UnbatchStage(), made(lambda batch: (batch["n"], batch["n"] * 2))) == [
        (n, 2 * n) for n in range(4)
    ]
    assert elements_of(UnbatchStage(), made(lambda batch: batch["n"])) == [0, 1, 2, 3]
    assert elements_of(UnbatchStage(), made(lambda batch: np.empty((0, 2)))) == []
