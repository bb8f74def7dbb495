"""The index of steps holds the values of every step, and finds those that it does not hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.episodes import ROBOT, Step, robot_episodes, tensor, write_episodes

import penstock as ps
from penstock import _core
from penstock.index.file_identity import Identity
from penstock.records.read_options import ReadOptions
from penstock.rlds.step_features import StepFeature, load_step_features
from penstock.rlds.step_index import StepIndex, build_step_index
from penstock.schema.schema import keep_stored
from penstock.storage import locate

ONE_FILE = "robot-train.tfrecord-00000-of-00001"


def build(folder: Path, **options) -> tuple[StepIndex, tuple[StepFeature, ...]]:
    features = load_step_features((folder / "features.json").read_text())
    store, name = locate(folder / ONE_FILE)
    return build_step_index(store, name, features, ReadOptions(**options), lambda done: None), features


def stored(folder: Path, index: StepIndex, name: str) -> list[bytes]:
    """Read the values of a feature by their places."""
    data = (folder / ONE_FILE).read_bytes()
    places = index.places[name]
    found = []
    for offset, length, checksum in zip(places.offsets, places.lengths, places.checksums, strict=True):
        value = data[int(offset) : int(offset) + int(length)]
        assert _core.crc32c(value) == checksum
        found.append(value)
    return found


def check(folder: Path, index: StepIndex, episodes: list[list[Step]]) -> None:
    steps = [step for episode in episodes for step in episode]
    assert index.lengths.tolist() == [len(episode) for episode in episodes]
    for name in ("observation/camera", "observation/wrist"):
        assert stored(folder, index, name) == [step[name] for step in steps]
    for name in ("observation/state", "action", "reward", "is_first"):
        expected = np.array([step[name] for step in steps]).reshape(index.columns[name].shape)
        np.testing.assert_array_equal(index.columns[name], expected)
    texts = index.texts["language_instruction"]
    assert [texts.values[code].decode() for code in texts.codes] == [step["language_instruction"] for step in steps]


@settings(max_examples=25, deadline=None)
@given(lengths=st.lists(st.integers(0, 9), max_size=12), seed=st.integers(0, 99), threads=st.integers(1, 3))
def test_it_holds_every_step_of_every_episode(tmp_path_factory, lengths: list[int], seed: int, threads: int):
    episodes = robot_episodes(lengths, seed)
    folder = write_episodes(tmp_path_factory.mktemp("robot"), episodes)
    index, _ = build(folder, threads=threads)
    check(folder, index, episodes)


def test_texts_are_stored_once(tmp_path):
    index, _ = build(write_episodes(tmp_path, robot_episodes([5, 5, 5, 5])))
    assert sorted(index.texts["language_instruction"].values) == [b"task 0", b"task 1", b"task 2"]


def test_wide_numbers_are_located_and_not_held(tmp_path):
    steps = {"action": tensor("float32", 2), "embedding": tensor("float32", 512)}
    rng = np.random.default_rng(0)
    episode = [
        {"action": rng.normal(size=2).astype("f4"), "embedding": rng.normal(size=512).astype("f4")} for _ in range(5)
    ]
    folder = write_episodes(tmp_path, [episode], steps)
    index, _ = build(folder)
    assert list(index.columns) == ["action"]
    assert stored(folder, index, "embedding") == [step["embedding"].tobytes() for step in episode]


@pytest.mark.parametrize("name", ["observation/camera", "action", "language_instruction"])
def test_an_episode_of_uneven_features_is_reported(tmp_path, name: str):
    folder = write_episodes(tmp_path, robot_episodes([3, 3]))
    schema = keep_stored(ps.Schema.from_tfds((folder / "features.json").read_text()))
    rows = [{name: row[name] for name in schema} for row in ps.Dataset(folder, schema=schema)]
    rows[1][f"steps/{name}"] = rows[1][f"steps/{name}"][:2]
    with ps.RecordWriter(folder / ONE_FILE, compression="") as writer:
        writer.write_many(ps.Encoder(schema).encode(rows))
    with pytest.raises(ps.MalformedExampleError, match=r"one for each step.*record 1") as caught:
        build(folder)
    assert caught.value.record == 1


def test_records_that_are_no_episodes_are_reported(tmp_path):
    folder = write_episodes(tmp_path, robot_episodes([3]))
    schema = ps.Schema({f"steps/{name}": ps.Feature("int64", (None,)) for name in ROBOT})
    for records, message in (
        (ps.Encoder(schema).encode([{name: [1, 2] for name in schema}]), "record 0"),
        ([b"\x0a\x05\xff\xff"], "malformed"),
    ):
        with ps.RecordWriter(folder / ONE_FILE, compression="") as writer:
            writer.write_many(records)
        with pytest.raises(ps.MalformedExampleError, match=message):
            build(folder)


def test_every_flipped_byte_of_a_file_is_noticed(tmp_path):
    folder = write_episodes(tmp_path, robot_episodes([2, 1]))
    good = (folder / ONE_FILE).read_bytes()
    for at in range(0, len(good), 7):
        (folder / ONE_FILE).write_bytes(good[:at] + bytes([good[at] ^ 0x20]) + good[at + 1 :])
        with pytest.raises(ps.CorruptDataError):
            build(folder)


def test_a_compressed_file_has_no_steps_to_read(tmp_path):
    folder = write_episodes(tmp_path, robot_episodes([2]))
    records = list(ps.RecordReader(folder / ONE_FILE))
    with ps.RecordWriter(folder / ONE_FILE, compression="GZIP") as writer:
        writer.write_many(records)
    with pytest.raises(ps.NotSeekableError, match="penstock convert"):
        build(folder)


class TestValueReader:
    """Values are read by their places, in any order, and checked."""

    def read(self, folder: Path, index: StepIndex, steps: list[int], name: str = "observation/camera"):
        places, rows = index.places[name], np.array(steps, np.int64)
        reader = _core.ValueReader([folder / ONE_FILE], threads=2)
        return reader.read(
            np.zeros(len(rows), np.int64),
            places.offsets[rows],
            places.lengths[rows].astype(np.uint64),
            places.checksums[rows],
        )

    @settings(max_examples=20, deadline=None)
    @given(data=st.data())
    def test_any_choice_of_values_comes_back_in_its_order(self, tmp_path_factory, data):
        episodes = robot_episodes([4, 0, 7, 2])
        folder = write_episodes(tmp_path_factory.mktemp("robot"), episodes)
        index, _ = build(folder)
        steps = [step for episode in episodes for step in episode]
        chosen = data.draw(st.lists(st.integers(0, len(steps) - 1), max_size=30))
        views, buffer = self.read(folder, index, chosen)
        column = ps.BytesColumn(views, [buffer])
        assert column.to_list() == [steps[number]["observation/camera"] for number in chosen]

    def test_a_changed_value_is_reported_by_its_number(self, tmp_path):
        folder = write_episodes(tmp_path, robot_episodes([9], seed=1))
        index, _ = build(folder)
        places = index.places["observation/camera"]
        data = bytearray((folder / ONE_FILE).read_bytes())
        number = int(np.argmax(places.lengths))
        data[int(places.offsets[number])] ^= 1
        (folder / ONE_FILE).write_bytes(data)
        assert self.read(folder, index, [number - 1, number]) == ("checksum", 1)
        (folder / ONE_FILE).write_bytes(data[: int(places.offsets[number])])
        assert self.read(folder, index, [number]) == ("truncated", 0)

    def test_places_beyond_the_file_cost_no_memory(self, tmp_path):
        folder = write_episodes(tmp_path, robot_episodes([1]))
        reader = _core.ValueReader([folder / ONE_FILE], threads=1)
        huge = np.array([2**63], np.uint64)
        zero = np.zeros(1, np.int64)
        for offset, length in ((huge, huge), (huge * 0, huge), (huge, huge * 0 + 1), (~huge, ~huge)):
            assert reader.read(zero, offset, length, zero.astype(np.uint32)) == ("truncated", 0)
        with pytest.raises(IndexError):
            reader.read(zero + 1, huge, huge, zero.astype(np.uint32))


def test_the_identity_is_that_of_the_file(tmp_path):
    folder = write_episodes(tmp_path, robot_episodes([2]))
    index, _ = build(folder)
    assert isinstance(index.identity, Identity)
    assert index.identity.size == (folder / ONE_FILE).stat().st_size
