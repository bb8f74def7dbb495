"""Statistics are NumPy's, are computed once, and normalize what they were computed of."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.support.episodes import robot_episodes, write_episodes

import penstock as ps
from penstock.rlds.statistics import compute_statistics


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    return write_episodes(tmp_path / "robot", robot_episodes([4, 0, 9, 30]), shards=2)


numbers = st.floats(-1e6, 1e6, width=32) | st.integers(-3, 3).map(float)


@settings(max_examples=60, deadline=None)
@given(
    values=hnp.arrays(
        st.sampled_from([np.float32, np.float64]), st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=numbers
    )
)
def test_they_are_those_of_numpy(values: np.ndarray):
    found = compute_statistics({"x": values}, 1, len(values))["x"]
    wide = values.astype(np.float64)
    for name, expected in (
        ("mean", wide.mean(0)),
        ("std", wide.std(0)),
        ("min", wide.min(0)),
        ("max", wide.max(0)),
        ("q01", np.quantile(wide, 0.01, axis=0)),
        ("q99", np.quantile(wide, 0.99, axis=0)),
    ):
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-9, atol=1e-6)
    assert found.count.tolist() == [len(values)] * values.shape[1]


def test_nan_is_left_out_and_integers_and_bools_are_numbers():
    columns = {
        "gap": np.array([1.0, np.nan, 3.0], np.float32),
        "flag": np.array([True, False, True]),
        "grid": np.arange(12).reshape(3, 2, 2),
        "none": np.full(3, np.nan),
        "empty": np.zeros((0, 2), np.float32),
    }
    found = compute_statistics(columns, 1, 3)
    assert (found["gap"].mean, found["gap"].count) == (2, 2)
    assert found["flag"].max == 1
    assert found["grid"].mean.tolist() == [[4, 5], [6, 7]]
    assert found["none"].count == 0
    assert found["empty"].count.tolist() == [0, 0]


def test_they_are_stored_and_found_again_unless_damaged(folder):
    episodes = ps.rlds.open(folder)
    first = episodes.statistics()
    (stored,) = Path(os.environ["PENSTOCK_CACHE"]).glob("*.statistics")
    content = stored.read_bytes()
    assert stored.stat().st_mode & 0o777 == 0o600
    for damaged in (content[:-2], content.replace(b"1", b"2"), b"", b"x" * 100):
        stored.write_bytes(damaged)
        again = ps.rlds.open(folder).statistics()
        assert json.dumps(again.to_json()) == json.dumps(first.to_json())
        assert stored.read_bytes() == content


def test_those_of_chosen_or_computed_episodes_are_their_own(folder):
    episodes = ps.rlds.open(folder)
    doubled = episodes.map(lambda episode: {"action": episode["action"] * 2})
    np.testing.assert_allclose(doubled.statistics()["action"].mean, 2 * episodes.statistics()["action"].mean)
    some = episodes[2:3]
    np.testing.assert_allclose(some.statistics()["reward"].mean, some.column("reward").mean(), rtol=1e-6)
    assert (some.statistics().episodes, some.statistics().steps) == (1, 9)
    assert len(list(Path(os.environ["PENSTOCK_CACHE"]).glob("*.statistics"))) == 3
    ps.rlds.open(folder, index="none")[:1].statistics()
    assert len(list(Path(os.environ["PENSTOCK_CACHE"]).glob("*.statistics"))) == 3


class TestNormalize:
    """Features are normalized by their own statistics, or by others."""

    def test_by_mean_and_deviation(self, folder):
        normalized = ps.rlds.open(folder).normalize(["action", "reward"])
        for name in ("action", "reward"):
            np.testing.assert_allclose(normalized.column(name).mean(0), 0, atol=1e-6)
            np.testing.assert_allclose(normalized.column(name).std(0), 1, atol=1e-5)
        assert normalized.steps(horizon=2, decode=False)[0]["action"].dtype == np.float32

    @pytest.mark.parametrize("method", ["bounds", "quantiles"])
    def test_by_bounds(self, folder, method: str):
        episodes = ps.rlds.open(folder)
        found = episodes.normalize(["action"], method=method).column("action")
        assert (found.min(), found.max()) == (-1, 1)
        statistics = episodes.statistics()["action"]
        inside = (np.abs(found) < 1).all(1)
        back = statistics.denormalize(found[inside], method)
        np.testing.assert_allclose(back, episodes.column("action")[inside], atol=1e-5)

    def test_by_the_statistics_of_other_episodes_and_for_some_numbers(self, folder):
        episodes = ps.rlds.open(folder)
        train = episodes[3:].statistics()
        found = episodes.normalize(["action"], statistics=train, mask={"action": [True, False]}).column("action")
        expected = (episodes.column("action") - train["action"].mean) / train["action"].std
        np.testing.assert_allclose(found[:, 0], expected[:, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found[:, 1], episodes.column("action")[:, 1])

    def test_a_constant_stays_finite(self, folder):
        still = ps.rlds.open(folder).map(lambda episode: {"action": np.ones_like(episode["action"])})
        for method in ("normal", "bounds", "quantiles"):
            assert not still.normalize(["action"], method=method).column("action").any()

    def test_what_is_no_column_of_numbers_is_an_error(self, folder):
        with pytest.raises(KeyError, match="no column of numbers"):
            ps.rlds.open(folder).normalize(["observation/camera"])
        with pytest.raises(ValueError, match="method"):
            ps.rlds.open(folder).normalize(["action"], method="range")
