"""Values are read from the files that were indexed: other files, and damaged ones, are errors that say where."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import fsspec
import numpy as np
import pytest
from tests.rlds.test_step_index import ONE_FILE
from tests.support.episodes import robot_episodes, same_row, tensor, write_episodes

import penstock as ps

CAMERA = "observation/camera"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_episodes(tmp_path / "robot", robot_episodes([500] * 4))


@pytest.fixture
def large(tmp_path) -> Path:
    """Whose third record lies between the first and the last 64 KiB, in part and with its end."""
    return write_episodes(tmp_path / "robot", robot_episodes([500] * 6))


def cameras(folder: Path) -> ps.Dataset:
    return ps.rlds.open(folder).steps(decode=False).select_columns([CAMERA])


def camera_of(row: dict) -> bytes:
    return row["observation"]["camera"]


def change_picture(folder: Path, step: int, *, sealed: bool) -> None:
    """Flip a bit of a picture in the third record, whose checksum is updated if it is ``sealed``."""
    path = folder / ONE_FILE
    picture = robot_episodes([500] * 4)[2][step][CAMERA]
    records = list(ps.RecordReader(path))
    changed = records[2].replace(picture, bytes([picture[0] ^ 1]) + picture[1:], 1)
    assert changed != records[2]
    if sealed:
        with ps.RecordWriter(path, compression="") as writer:
            writer.write_many([*records[:2], changed, *records[3:]])
    else:
        path.write_bytes(path.read_bytes().replace(records[2], changed))


def some_step(folder: Path) -> int:
    """Return a step of the third episode with a picture that is long enough to be found by its bytes."""
    return next(
        number for number, step in enumerate(robot_episodes([500] * 4)[2]) if number > 200 and len(step[CAMERA]) > 20
    )


def test_a_damaged_picture_is_reported_with_its_place(folder):
    steps, number = cameras(folder), some_step(folder)
    change_picture(folder, number, sealed=False)
    with pytest.raises(ps.ChecksumError, match=f"record 2, step {number}, feature '{CAMERA}'") as caught:
        steps[1000 + number]
    assert (caught.value.path, caught.value.record) == (str(folder / ONE_FILE), 2)
    assert len(camera_of(steps[1000 + number + 1])) >= 0


def test_iteration_returns_the_steps_before_a_damaged_one(folder):
    steps, number = cameras(folder), some_step(folder)
    change_picture(folder, number, sealed=False)
    seen = []
    with pytest.raises(ps.ChecksumError):
        seen.extend(steps)
    assert len(seen) == 1000 + number


def test_a_file_that_changed_between_its_ends_gets_a_new_index(large):
    steps, number = cameras(large), some_step(large)
    change_picture(large, number, sealed=True)
    with pytest.raises(ps.CorruptDataError, match="open the dataset again") as caught:
        steps[1000 + number]
    assert caught.value.kind == "changed"
    picture = robot_episodes([500] * 4)[2][number][CAMERA]
    assert camera_of(cameras(large)[1000 + number]) == bytes([picture[0] ^ 1]) + picture[1:]


def change_action(folder: Path) -> np.ndarray:
    """Change a number between the first and last 64 KiB, and the checksum of its record; return all actions."""
    path, actions = folder / ONE_FILE, ps.rlds.open(folder, index="none").column("action").copy()
    records = list(ps.RecordReader(path))
    size, third = path.stat().st_size, path.read_bytes().index(records[2])
    value, changed = actions[1100].tobytes(), np.float32([7, -7])
    assert 64 << 10 < third < third + len(records[2]) + 4 < size - (64 << 10)
    assert records[2].count(value) == 1
    with ps.RecordWriter(path, compression="") as writer:
        writer.write_many([*records[:2], records[2].replace(value, changed.tobytes()), *records[3:]])
    assert path.stat().st_size == size
    actions[1100] = changed
    return actions


@pytest.mark.parametrize("index", ["cache", "sidecar"])
def test_numbers_that_changed_between_the_ends_of_a_file_are_read_again(large, index: str):
    before = ps.rlds.open(large, index=index)
    before.statistics()
    expected = change_action(large)
    after = ps.rlds.open(large, index=index)
    np.testing.assert_array_equal(after.column("action"), expected)
    assert after.statistics()["action"].max[0] == 7
    state = iter(before.steps(decode=False)).state_dict()
    with pytest.raises(ps.StateError):
        iter(after.steps(decode=False)).load_state_dict(state)
    np.testing.assert_array_equal(ps.rlds.open(large, index=index).column("action"), expected)


def test_remote_numbers_that_changed_are_read_again(large):
    remote = fsspec.filesystem("memory")
    remote.put(str(large), "/changed", recursive=True)
    ps.rlds.open("memory://changed")
    expected = change_action(large)
    remote.put(str(large / ONE_FILE), f"/changed/{ONE_FILE}")
    np.testing.assert_array_equal(ps.rlds.open("memory://changed").column("action"), expected)


def test_a_copy_in_another_process_is_of_the_same_files(large):
    pickled = pickle.dumps(cameras(large))
    assert same_row(pickle.loads(pickled)[7], cameras(large)[7])
    change_action(large)
    with pytest.raises(ps.CorruptDataError, match="open it again") as caught:
        pickle.loads(pickled)
    assert caught.value.kind == "changed"


def test_a_file_that_was_cut_after_it_was_opened_is_reported(folder):
    steps = cameras(folder)
    os.truncate(folder / ONE_FILE, 1000)
    with pytest.raises(ps.CorruptDataError, match="changed"):
        steps[1999]


def test_other_counts_in_the_metadata_are_an_error(folder):
    info = json.loads((folder / "dataset_info.json").read_text())
    info["splits"][0]["shardLengths"] = ["5"]
    (folder / "dataset_info.json").write_text(json.dumps(info))
    with pytest.raises(ps.ManifestError, match="lists 5 episodes, the file has 4"):
        ps.rlds.open(folder)


def test_a_child_process_reads_by_itself(folder):
    steps = cameras(folder)
    first = steps[0]
    child = os.fork()
    if child == 0:
        os._exit(0 if same_row(steps[0], first) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_wide_and_raw_numbers_are_read_from_the_record(tmp_path):
    raw = tensor("float32", 4)
    raw["tensor"]["encoding"] = "bytes"
    features = {"action": tensor("float32", 2), "embedding": tensor("float32", 512), "raw": raw}
    rng = np.random.default_rng(0)
    shapes = {"action": 2, "embedding": 512, "raw": 4}
    episode = [{name: rng.normal(size=size).astype("f4") for name, size in shapes.items()} for _ in range(6)]
    folder = write_episodes(tmp_path / "robot", [[step | {"raw": step["raw"].tobytes()} for step in episode]], features)
    rows = ps.rlds.open(folder).steps()[[4, 2, 4]]
    for name in features:
        np.testing.assert_array_equal(rows[name], [episode[step][name] for step in (4, 2, 4)])
