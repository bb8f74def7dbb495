"""map(): one call for each element, on threads or not; errors come at their element."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import pytest
from flows import Source, blocks_of, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA

import penstock as ps
from penstock.dataset.progress import Meter
from penstock.dataset.transforms.batch import BatchStage, PackStage
from penstock.dataset.transforms.filter import FilterStage
from penstock.dataset.transforms.map import MapStage


def number(element: dict[str, Any]) -> int:
    return int(element["n"])


def fail_at(bad: int, element: dict[str, Any]) -> int:
    if element["n"] == bad:
        raise KeyError("no such thing")
    return int(element["n"])


def stop_at(bad: int, element: dict[str, Any]) -> int:
    if element["n"] == bad:
        raise StopIteration
    return int(element["n"])


workers = st.integers(0, 3)


@relaxed
@given(sources(), workers)
def test_map_calls_once_for_each_element_in_order(source: Source, workers: int):
    seen = elements_of(MapStage(lambda element: plain(element), workers=workers), source)
    assert seen == source.rows()
    assert source.all_closed()


@relaxed
@given(sources(), workers, st.data())
def test_an_error_comes_after_the_elements_before_it(source: Source, workers: int, data: st.DataObject):
    bad = data.draw(st.integers(0, max(0, len(source) - 1)))
    for stage in (
        MapStage(partial(fail_at, bad), workers=workers),
        FilterStage(partial(fail_at, bad), workers=workers),
    ):
        seen: list[int] = []
        try:
            for block in blocks_of(stage, source):
                seen += (
                    [plain(element) for element in block.elements]
                    if isinstance(stage, MapStage)
                    else block.keys.rows.tolist()
                )
        except KeyError as error:
            assert f"row {bad} in epoch 0" in error.__notes__[0]
            assert "fail_at" in error.__notes__[0]
        else:
            assert len(source) == 0
        assert seen == list(range(isinstance(stage, FilterStage), bad))
        assert source.all_closed()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_with_a_bad_element_is_not_given_in_part(workers: int):
    failing = MapStage(lambda element: {"n": fail_at(5, element)}, workers=workers)
    source = Source([4, 4, 4])
    for batching in (BatchStage(4), PackStage()):
        flow = batching.open(lambda cursor: failing.open(source, cursor, Meter()), None, Meter())
        assert plain(next(flow).elements[0]["n"]) == [0, 1, 2, 3]
        with pytest.raises(KeyError, match="no such thing"):
            next(flow)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_an_error_of_the_source_comes_after_the_blocks_before_it(workers: int):
    seen = []
    with pytest.raises(OSError, match="the disk is gone"):
        for block in blocks_of(MapStage(number, workers=workers), Source([2, 2, 2], fails_after=2)):
            seen += block.elements
    assert seen == [0, 1, 2, 3]


def test_a_function_that_stops_iterations_does_not_end_the_flow():
    with pytest.raises(RuntimeError):
        elements_of(MapStage(lambda element: next(iter(()))), Source([1]))


def test_batches_are_elements_too():
    stage = MapStage(lambda batch: batch["n"].sum())
    batched = BatchStage(3)
    source = Source([4, 4])
    seen = elements_of(stage, lambda cursor: batched.open(source, cursor, Meter()))
    assert seen == [3, 12, 13]


def test_invalid_arguments_raise_at_once():
    with pytest.raises(TypeError, match="does not pickle"):
        MapStage(lambda element: element, workers=1, processes=True)
    with pytest.raises(ValueError, match="the number of processes"):
        MapStage(number, processes=True)
    with pytest.raises(TypeError, match="expected a function"):
        FilterStage("n")  # type: ignore[arg-type]


def test_stages_pickle_and_say_what_they_do():
    stage = MapStage(number, seed=3, workers=2)
    assert pickle.loads(pickle.dumps(stage)) == stage
    assert stage.describe() == MapStage(number, seed=3).describe() == ["map", f"{__name__}.number", 3]
    assert MapStage(partial(fail_at, 3)).describe()[1].endswith("fail_at")


@pytest.mark.parametrize("stage", [MapStage, FilterStage])
@pytest.mark.parametrize("workers", [0, 2])
def test_stop_iteration_of_a_function_is_an_error_that_names_the_row(stage: Any, workers: int):
    with pytest.raises(RuntimeError, match="raised StopIteration") as raised:
        elements_of(stage(partial(stop_at, 3), workers=workers), Source([4, 4]))
    assert "stop_at for row 3 in epoch 0" in raised.value.__notes__[0]


def test_an_error_in_a_function_comes_at_its_element(shards):
    def fails(row):
        if row["id"] == 5:
            raise RuntimeError("no five")
        return row

    it = iter(ps.Dataset(shards("plain"), schema=SCHEMA).map(fails))
    assert [int(next(it)["id"]) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="no five"):
        next(it)
