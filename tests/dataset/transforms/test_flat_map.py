"""flat_map(): any number of elements for each one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA

import penstock as ps
from penstock.codec.images import encode_image
from penstock.dataset.transforms.flat_map import FlatMapStage


def copies(element: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number in range(int(element["n"]) % 4):
        yield {**element, "copy": number}


@relaxed
@given(sources(), st.integers(0, 2))
def test_elements_are_those_of_the_results_in_order(source: Source, workers: int):
    stage = FlatMapStage(copies, workers=workers)
    assert elements_of(stage, source) == [plain(copy) for row in source.rows() for copy in copies(row)]
    check_resumes(stage, source)
    keys = [row for block in blocks_of(stage, source) for row in block.keys.rows.tolist()]
    assert len(set(keys)) == len(keys)
    assert source.all_closed()


def test_an_iteration_resumes_within_a_result(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).flat_map(lambda row: [row["id"]] * 3).filter(bool)
    expected = [int(number) for number in ds]
    it = iter(ds.epoch(0))
    for step in range(len(expected)):
        resumed = iter(ds)
        resumed.load_state_dict(json.loads(json.dumps(it.state_dict())))
        assert [int(number) for number in resumed] == expected[step:]
        next(it)


def test_a_batch_is_its_rows_and_an_error_comes_after_the_elements_before_it(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    assert [row["id"] for row in ds.batch(3).flat_map(lambda batch: batch.take([0])).take(3)] == [0, 3, 6]

    def failing(row: dict[str, Any]) -> Iterator[int]:
        yield int(row["id"])
        if row["id"] == 2:
            raise OSError("no")

    found = iter(ds.flat_map(failing))
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(OSError, match="no") as caught:
        next(found)
    assert "failing for row 2" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="returns a list of elements, not dict"):
        list(ds.flat_map(dict))


def test_values_that_are_passed_on_are_written_as_they_are_stored(tmp_path: Path):
    schema = ps.Schema({"id": int, "image": ps.Feature("uint8", (2, 2, 3), encoding="jpeg")})
    image = encode_image(np.random.default_rng(1).integers(0, 255, (2, 2, 3), np.uint8), "jpeg", quality=30)
    ps.write(tmp_path / "one", [{"id": 1, "image": image}], schema=schema)
    twice = ps.Dataset(tmp_path / "one").flat_map(lambda row: ({**row, "id": number} for number in range(2)))
    ps.write(tmp_path / "two", twice)
    stored = ps.Dataset(ps.Dataset(tmp_path / "two").files, schema=ps.Schema({"id": int, "image": bytes}))
    assert [plain(row) for row in stored] == [{"id": 0, "image": image}, {"id": 1, "image": image}]
