"""unbatch(): rows of batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.dataset.progress import Meter
from penstock.dataset.transforms.batch import BatchStage
from penstock.dataset.transforms.map import MapStage
from penstock.dataset.transforms.unbatch import UnbatchStage


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


def test_examples_cannot_be_taken_apart(written: Path):
    with pytest.raises(TypeError, match="takes batches apart"):
        next(iter(ps.Dataset(written / "train").unbatch()))
