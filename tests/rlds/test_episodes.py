"""Episodes and their steps are those that were written: a model in plain Python says which."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.episodes import expected_rows, robot_episodes, same_row, write_episodes

import penstock as ps


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_episodes(tmp_path / "robot" / "1.0.0", robot_episodes([4, 0, 1, 7, 3]), shards=2)


def places(rows) -> list[tuple[int, int]]:
    return [(int(row["episode_index"]), int(row["step_index"])) for row in rows]


sizes = st.none() | st.integers(1, 4)
pads = st.sampled_from(["repeat", "zero", "drop"])


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=8),
    shards=st.integers(1, 3),
    window=sizes,
    horizon=sizes,
    pad=pads,
    data=st.data(),
)
def test_every_step_window_and_chunk_is_that_of_its_episode(
    tmp_path_factory, lengths: list[int], shards: int, window, horizon, pad: str, data
):
    episodes = robot_episodes(lengths, seed=len(lengths))
    folder = write_episodes(tmp_path_factory.mktemp("robot"), episodes, shards=shards)
    steps = ps.rlds.open(folder, index="none").steps(window=window, horizon=horizon, pad=pad, decode=False)
    expected = expected_rows(episodes, window, horizon, pad)
    assert len(steps) == len(expected)
    assert all(map(same_row, steps, expected))
    if expected:
        at = data.draw(st.integers(-len(expected), len(expected) - 1))
        assert same_row(steps[at], expected[at])
        order = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=6))
        assert all(map(same_row, steps[order].rows(), [expected[at] for at in order]))
    seed = data.draw(st.integers(0, 9))
    by_place = {(row["episode_index"], row["step_index"]): row for row in expected}
    shuffled = list(steps.shuffle(seed=seed))
    assert sorted(places(shuffled)) == sorted(by_place)
    assert all(same_row(row, by_place[place]) for row, place in zip(shuffled, places(shuffled), strict=True))


@pytest.mark.parametrize("world", range(1, 9))
@pytest.mark.parametrize("shuffled", [False, True])
def test_ranks_share_every_step_and_none_twice(folder, world: int, shuffled: bool):
    steps = ps.rlds.open(folder).steps(window=2, decode=False)
    steps = steps.shuffle(seed=3) if shuffled else steps
    seen = Counter(place for rank in range(world) for place in places(steps.shard(rank, world)))
    assert seen == Counter(places(ps.rlds.open(folder).steps(decode=False)))


@pytest.mark.parametrize("batch", [None, 2])
def test_it_resumes_at_every_step(folder, batch: int | None):
    steps = ps.rlds.open(folder).steps(window=2, horizon=2, decode=False).shuffle(seed=1)
    steps = steps if batch is None else steps.batch(batch)

    def ids(elements) -> list:
        return [np.array(element["step_index"]).tolist() for element in elements]

    whole = ids(steps)
    for seen in range(len(whole) + 1):
        iterator = iter(steps.epoch(0))
        for _ in range(seen):
            next(iterator)
        resumed = iter(ps.rlds.open(folder).steps(window=2, horizon=2, decode=False).shuffle(seed=1))
        if batch is not None:
            resumed = iter(ps.rlds.open(folder).steps(window=2, horizon=2, decode=False).shuffle(seed=1).batch(batch))
        resumed.load_state_dict(iterator.state_dict())
        assert ids(resumed) == whole[seen:]


@pytest.mark.parametrize("seen", range(4))
def test_two_ranks_resume_what_four_began(folder, seen: int):
    steps = ps.rlds.open(folder).steps(decode=False).shuffle(seed=5)
    states, done = [], Counter()
    for rank in range(4):
        iterator = iter(steps.shard(rank, 4))
        done += Counter(places(next(iterator) for _ in range(seen)))
        states.append(iterator.state_dict())
    for rank in range(2):
        resumed = iter(steps.shard(rank, 2))
        resumed.load_state_dict(states[rank])
        done += Counter(places(resumed))
    assert done == Counter(places(steps))


def test_a_state_belongs_to_its_windows_and_its_episodes(folder):
    episodes = ps.rlds.open(folder)
    state = iter(episodes.steps(window=2)).state_dict()
    for other in (episodes.steps(window=3), episodes[1:].steps(window=2), episodes.subsample(2).steps(window=2)):
        with pytest.raises(ps.StateError, match="other data"):
            iter(other).load_state_dict(state)


def test_a_mix_draws_from_datasets_by_weight_and_resumes(folder, tmp_path):
    other = write_episodes(tmp_path / "other" / "1.0.0", robot_episodes([9, 9], seed=9))
    few, many = ps.rlds.open(folder), ps.rlds.open(other)

    def mixed():
        parts = [episodes.steps(decode=False).shuffle(seed=1) for episodes in (few, many)]
        return parts[0].mix(parts[1], weights=[1, 3], seed=0, stop="never").take(60)

    drawn = [float(row["reward"]) for row in mixed()]
    of_many = {float(reward) for reward in many.column("reward")}
    assert 35 <= sum(reward in of_many for reward in drawn) <= 55
    iterator = iter(mixed())
    for _ in range(17):
        next(iterator)
    resumed = iter(mixed())
    resumed.load_state_dict(iterator.state_dict())
    assert [float(row["reward"]) for row in resumed] == drawn[17:]


def test_pictures_are_decoded_and_an_episode_is_a_batch_of_its_steps(tmp_path):
    written = robot_episodes([3, 2], decodable=True)
    folder = write_episodes(tmp_path / "robot", written)
    episodes = ps.rlds.open(folder)
    feature = ps.Feature("uint8", (8, 8, 3), encoding="image")
    pixels = ps.Decoder(ps.Schema({"camera": feature}))
    encoder = ps.Encoder(ps.Schema({"camera": bytes}))
    for episode, steps in zip(episodes, written, strict=True):
        expected = pixels.decode(encoder.encode([{"camera": step["observation/camera"]} for step in steps]))["camera"]
        np.testing.assert_array_equal(episode["observation/camera"], expected)
        np.testing.assert_array_equal(episode["action"], [step["action"] for step in steps])
    window = episodes.steps(window=2, pad="zero")[0]["observation"]["camera"]
    assert not window[0].any()
    assert (window[1] == episodes[0]["observation/camera"][0]).all()
    assert episodes.steps().schema["observation/camera"] == feature


class TestChoice:
    """Episodes are chosen, and steps chosen among them, before their windows are made."""

    def test_a_split_is_that_of_the_metadata(self, folder):
        assert ps.rlds.open(folder, "train[1:4]").lengths.tolist() == [0, 1, 7]
        assert ps.rlds.open(folder, "train[:20%]+train[60%:]").lengths.tolist() == [4, 7, 3]

    def test_a_slice_has_some_of_them(self, folder):
        episodes = ps.rlds.open(folder)
        assert episodes[2:].lengths.tolist() == [1, 7, 3]
        assert episodes[::-1].lengths.tolist() == [3, 7, 1, 0, 4]
        assert places(episodes[3:].steps(decode=False))[0] == (3, 0)
        with pytest.raises(IndexError):
            episodes[5]

    def test_filter_gets_the_numbers_and_texts_of_each(self, folder):
        episodes = ps.rlds.open(folder)
        kept = episodes.filter(
            lambda episode: len(episode["action"]) > 2 and episode["language_instruction"][0] == "task 0"
        )
        assert kept.lengths.tolist() == [4, 7]

    def test_subsampled_episodes_have_every_nth_step(self, folder):
        written = [episode[::2] for episode in robot_episodes([4, 0, 1, 7, 3])]
        steps = ps.rlds.open(folder).subsample(2).steps(window=2, horizon=3, decode=False)
        assert all(map(same_row, steps, expected_rows(written, 2, 3)))
        assert ps.rlds.open(folder).subsample(2).subsample(3).lengths.tolist() == [1, 0, 1, 2, 1]

    def test_the_numbers_of_chosen_steps_are_those_of_the_rows(self, folder):
        episodes = ps.rlds.open(folder)[1:].subsample(2)
        np.testing.assert_array_equal(
            episodes.column("reward"), [row["reward"] for row in episodes.steps(decode=False)]
        )
        with pytest.raises(KeyError, match="no column of numbers"):
            episodes.column("observation/camera")

    def test_records_are_the_whole_episodes(self, folder):
        whole = ps.rlds.open(folder)[::2].records
        assert [int(row["episode_id"]) for row in whole.select_columns(["episode_id"])] == [0, 2, 4]


def test_steps_pickle(folder):
    steps = ps.rlds.open(folder).steps(window=2, decode=False).shuffle(seed=2)
    again = pickle.loads(pickle.dumps(steps))
    assert all(map(same_row, again, steps.epoch(0)))


def test_columns_are_selected_and_renamed(folder):
    steps = ps.rlds.open(folder).steps(window=2, horizon=2, decode=False)
    row = steps.select_columns(["action", "action_mask"]).rename_columns({"action": "target"})[0]
    assert list(row) == ["target", "action_mask"]
    assert row["target"].shape == (2, 2)


@pytest.mark.parametrize("options", [{"window": 0}, {"horizon": -1}, {"pad": "mirror"}, {"window": 1.5}])
def test_options_that_cannot_be_are_errors(folder, options: dict):
    with pytest.raises((ValueError, TypeError)):
        ps.rlds.open(folder).steps(**options)


def test_what_is_for_whole_records_says_so(folder):
    steps = ps.rlds.open(folder).steps()
    with pytest.raises(TypeError, match="a step is a part of a record"):
        steps.record(0)
    with pytest.raises(TypeError, match="not for steps"):
        steps.with_allocator(lambda name, shape, dtype: np.empty(shape, dtype))


class TestGoals:
    """The goal of a row is the observation of a later step of its episode."""

    def steps_of_goals(self, rows, folder) -> list[tuple[int, int]]:
        states = ps.rlds.open(folder).column("observation/state")
        places = {state.tobytes(): place for place, state in enumerate(states)}
        pairs = ((row["observation"]["state"], row["goal"]["state"]) for row in rows)
        return [(places[state.tobytes()], places[goal.tobytes()]) for state, goal in pairs]

    def test_last_is_the_end_of_the_episode(self, folder):
        steps = ps.rlds.open(folder).steps(goal="last", decode=False)
        ends = np.repeat(np.cumsum([4, 1, 7, 3]) - 1, [4, 1, 7, 3])
        assert [goal for _, goal in self.steps_of_goals(steps, folder)] == ends.tolist()
        written = robot_episodes([4, 0, 1, 7, 3])
        assert steps[0]["goal"]["camera"] == written[0][3]["observation/camera"]

    def test_future_is_any_later_step_and_another_one_in_each_epoch(self, folder):
        steps = (
            ps.rlds.open(folder)
            .steps(goal="future", goal_seed=1, window=2, decode=False)
            .select_columns(["observation/state", "goal/state", "episode_index", "step_index"])
        )
        plain = ps.rlds.open(folder).steps(goal="future", goal_seed=1, decode=False)
        ends = np.repeat(np.cumsum([4, 1, 7, 3]) - 1, [4, 1, 7, 3])
        seen = []
        for epoch in range(20):
            found = self.steps_of_goals(plain.epoch(epoch), folder)
            assert all(min(at + 1, end) <= goal <= end for (at, goal), end in zip(found, ends, strict=True))
            seen.append([goal for _, goal in found])
        assert {goals[5] for goals in seen} == set(range(6, 12))
        goals = [row["goal"]["state"].tolist() for row in plain.epoch(3)]
        assert [row["goal"]["state"].tolist() for row in steps.epoch(3)] == goals
        assert [row["goal"]["state"].tolist() for row in plain.epoch(3)] == goals

    def test_goals_do_not_depend_on_ranks_or_on_where_a_run_resumes(self, folder):
        def goals(rows) -> dict:
            return {(int(row["episode_index"]), int(row["step_index"])): row["goal"]["state"].tolist() for row in rows}

        steps = ps.rlds.open(folder).steps(goal="future", decode=False).shuffle(seed=2).epoch(1)
        whole = goals(steps)
        parts: dict = {}
        for rank in range(3):
            iterator = iter(steps.epoch(1).shard(rank, 3))
            parts |= goals(next(iterator) for _ in range(2))
            resumed = iter(steps.epoch(0).shard(rank, 3))
            resumed.load_state_dict(iterator.state_dict())
            parts |= goals(resumed)
        assert parts == whole

    def test_another_seed_or_choice_is_another_dataset(self, folder):
        episodes = ps.rlds.open(folder)
        state = iter(episodes.steps(goal="future", goal_seed=1)).state_dict()
        for options in ({"goal": "future", "goal_seed": 2}, {"goal": "last"}, {}):
            with pytest.raises(ps.StateError):
                iter(episodes.steps(**options)).load_state_dict(state)
        with pytest.raises(ValueError, match="goal"):
            episodes.steps(goal="never")


class TestMix:
    """Weights of a mix count steps, or datasets."""

    @pytest.mark.parametrize(("balance", "share"), [(True, 0.9), (False, 0.5)])
    def test_balanced_weights_are_multiplied_by_sizes(self, tmp_path, balance: bool, share: float):
        few = ps.rlds.open(write_episodes(tmp_path / "few", robot_episodes([10])))
        many = ps.rlds.open(write_episodes(tmp_path / "many", robot_episodes([45, 45], seed=1)))
        parts = [episodes.steps(decode=False).shuffle(seed=0) for episodes in (many, few)]
        mixed = ps.rlds.mix(parts, seed=0, balance=balance)
        of_many = set(many.column("reward").tolist())
        drawn = [float(row["reward"]) in of_many for row in mixed.take(600)]
        assert abs(np.mean(drawn) - share) < 0.06

    def test_a_mix_of_nothing_or_of_too_few_weights_is_an_error(self, folder):
        with pytest.raises(ValueError, match="needs a dataset"):
            ps.rlds.mix([], seed=0)
        with pytest.raises(ValueError, match="2 weights"):
            ps.rlds.mix([ps.rlds.open(folder).steps()] * 2, [1], seed=0)
