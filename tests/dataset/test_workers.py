"""Calls of user functions: the random numbers of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from flows import Source, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st

from penstock.dataset.transforms.map import MapStage


def noise(element: dict[str, Any], rng: np.random.Generator) -> tuple[int, float]:
    return int(element["n"]), rng.random()


@relaxed
@given(sources(), st.integers(0, 3))
def test_random_numbers_depend_only_on_the_seed_the_epoch_and_the_row(source: Source, workers: int):
    stage = MapStage(noise, seed=7, workers=workers)
    seen = elements_of(stage, source)
    assert seen == elements_of(MapStage(noise, seed=7), Source([1] * len(source)))
    assert len({value for _, value in seen}) == len(seen)
    check_resumes(stage, source)
    if seen:
        assert seen != elements_of(stage, source, {"epoch": 1})
        assert seen != elements_of(MapStage(noise, seed=8), source)


def test_random_numbers_do_not_depend_on_those_of_earlier_rows():
    drawn = MapStage(
        lambda element, rng: (rng.integers(9, size=int(element["n"]), dtype=np.uint8).size, rng.random()), seed=1
    )
    first = [rng for _, rng in elements_of(drawn, Source([8]))]
    single = [rng for _, rng in elements_of(drawn, Source([1] * 8))]
    assert first == single


def test_random_numbers_stay_the_same_in_new_versions():
    # Runs are resumed after an update: the numbers of a row are a position in a Philox stream.
    for epoch in (0, 2):
        key, counter = np.array([7, epoch], np.uint64), np.array([0, 0, 0, 3], np.uint64)
        expected = np.random.Generator(np.random.Philox(key=key, counter=counter)).random()
        assert elements_of(MapStage(noise, seed=7), Source([5]), {"epoch": epoch})[3] == (3, expected)


def test_any_integer_is_a_valid_seed():
    seeds = [0, 2**63, 2**63 + 1, 2**64 - 1, -2]
    seen = {seed: tuple(elements_of(MapStage(noise, seed=seed), Source([3]))) for seed in seeds}
    assert len(set(seen.values())) == len(seeds)
