"""What a function computes of an episode is what windows and chunks are made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.episodes import expected_rows, robot_episodes, same_row, write_episodes

import penstock as ps


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    return write_episodes(tmp_path / "robot" / "1.0.0", robot_episodes([4, 0, 1, 7, 3]), shards=2)


class TestMap:
    """What a function computes of an episode is what windows and chunks are made of."""

    def test_windows_and_chunks_hold_computed_numbers(self, folder):
        def change(episode):
            return {"action": np.cumsum(episode["action"], 0), "observation/speed": episode["observation/state"] * 2}

        written = robot_episodes([4, 0, 1, 7, 3])
        for episode in written:
            actions = np.cumsum([step["action"] for step in episode], 0) if episode else []
            for step, action in zip(episode, actions, strict=True):
                step |= {"action": action, "observation/speed": step["observation/state"] * 2}
        steps = ps.rlds.open(folder).map(change).steps(window=3, horizon=2, decode=False)
        expected = expected_rows(written, 3, 2)
        assert all(same_row(row, want) for row, want in zip(steps, expected, strict=True))
        assert steps.schema["observation/speed"] == ps.Feature("float32", (3, 3))

    @pytest.mark.parametrize(
        ("fn", "message"),
        [
            (lambda episode: {"action": episode["action"][:-1]}, "a row for each step"),
            (lambda episode: {"action": ["text"] * len(episode["action"])}, "returns numbers"),
            (lambda episode: {"x": episode["action"][:, : len(episode["action"])]}, "for an episode before"),
            (lambda episode: {"x": episode["reward"]} if len(episode["reward"]) == 4 else {}, "the columns"),
            (lambda episode: {"observation/camera": episode["reward"]}, "another name"),
        ],
    )
    def test_what_is_no_column_of_numbers_is_an_error(self, folder, fn, message: str):
        with pytest.raises(ValueError, match=message):
            ps.rlds.open(folder).map(fn)

    def test_a_state_belongs_to_what_was_computed(self, folder):
        episodes = ps.rlds.open(folder)
        state = iter(episodes.map(lambda episode: {"action": episode["action"] + 1}).steps()).state_dict()
        with pytest.raises(ps.StateError):
            iter(episodes.map(lambda episode: {"action": episode["action"] + 2}).steps()).load_state_dict(state)
