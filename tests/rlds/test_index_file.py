"""Stored step indexes: what is written comes back, and what does not fit is not used."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rlds.test_step_index import ONE_FILE, build, check
from tests.support.episodes import robot_episodes, write_episodes

import penstock as ps
from penstock.index.cache import cache_folder
from penstock.records.read_options import ReadOptions
from penstock.rlds.index_file import from_bytes, open_step_index, sealed, to_bytes
from penstock.rlds.step_features import load_step_features
from penstock.rlds.step_index import StepIndex


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


def same(one: StepIndex, other: StepIndex) -> bool:
    def parts(index: StepIndex) -> list:
        texts = [[texts.values[code] for code in texts.codes] for texts in index.texts.values()]
        places = [(p.offsets.tolist(), p.lengths.tolist(), p.checksums.tolist()) for p in index.places.values()]
        columns = [(column.dtype, column.tobytes()) for column in index.columns.values()]
        ends = index.record_ends
        ends_of = [ends.offsets.tolist(), ends.lengths.tolist(), ends.checksums.tolist()]
        return [index.identity, ends_of, index.lengths.tolist(), columns, texts, places]

    return parts(one) == parts(other)


@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(0, 9), max_size=12), seed=st.integers(0, 99))
def test_what_is_written_comes_back(tmp_path_factory, lengths: list[int], seed: int):
    folder = write_episodes(tmp_path_factory.mktemp("robot"), robot_episodes(lengths, seed))
    index, features = build(folder)
    assert same(from_bytes(to_bytes(index, features), index.identity, features), index)


def test_it_takes_about_ten_bytes_for_a_step_and_picture(tmp_path):
    episodes = robot_episodes([100] * 5, decodable=True)
    index, features = build(write_episodes(tmp_path, episodes))
    pictures = [feature for feature in features if feature.is_picture]
    only_pictures = replace(index, columns={}, texts={})
    assert len(to_bytes(only_pictures, pictures)) < 1000 + 10 * index.steps * len(pictures)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = write_episodes(tmp_path_factory.mktemp("robot"), robot_episodes([3, 0, 2]))
    index, features = build(folder)
    return to_bytes(index, features), index, features


def test_every_shorter_index_is_rejected(good):
    data, index, features = good
    for length in range(len(data)):
        with pytest.raises(ps.IndexFileError):
            from_bytes(data[:length], index.identity, features)


def test_every_flipped_byte_is_noticed(good):
    data, index, features = good
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1 :]
        with pytest.raises(ps.IndexFileError):
            from_bytes(damaged, index.identity, features)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_numbers_that_do_not_fit_the_file_are_rejected(good, data):
    content, index, features = good
    line, _, rest = content[:-4].partition(b"\n")
    head = json.loads(line)
    places = [(head, key) for key in ("episodes", "steps")]
    places += [(entry, key) for entry in head["numbers"].values() for key in ("count", "base", "width", "bytes")]
    where, key = data.draw(st.sampled_from(places))
    where[key] = data.draw(st.sampled_from([0, 1, 7, 255, 1 << 20, 1 << 40, 1 << 62, (1 << 63) - 1, -1, "1", None]))
    try:
        found = from_bytes(sealed(json.dumps(head).encode() + b"\n" + rest), index.identity, features)
    except ps.IndexFileError:
        return
    for place in found.places.values():
        assert (place.offsets + place.lengths <= index.identity.size).all()
    assert all(len(column) == found.steps for column in found.columns.values())
    assert all((texts.codes < len(texts.values)).all() for texts in found.texts.values())


def test_an_index_of_other_data_or_other_features_is_stale(good):
    data, index, features = good
    with pytest.raises(ps.StaleIndexError):
        from_bytes(data, replace(index.identity, size=index.identity.size + 1), features)
    with pytest.raises(ps.StaleIndexError):
        from_bytes(data, index.identity, features[1:])


class TestOpen:
    """An index is built once, stored where it was asked for, and built again where it does not fit."""

    def open(self, folder: Path, index: str) -> StepIndex:
        features = load_step_features((folder / "features.json").read_text())
        return open_step_index(str(folder / ONE_FILE), features, ReadOptions(index=index))

    def test_in_the_cache_only_the_owner_can_read_it(self, tmp_path):
        folder = write_episodes(tmp_path / "robot", robot_episodes([2, 3]))
        self.open(folder, "cache")
        (stored,) = [name for name in os.listdir(cache_folder()) if name.endswith(".steps")]
        assert stat.S_IMODE(os.stat(os.path.join(cache_folder(), stored)).st_mode) == 0o600

    @pytest.mark.parametrize("where", ["cache", "sidecar"])
    def test_a_stored_index_is_used_and_a_damaged_one_replaced(self, tmp_path, where: str):
        episodes = robot_episodes([2, 3])
        folder = write_episodes(tmp_path / "robot", episodes)
        first = self.open(folder, where)
        stored = folder / f".{ONE_FILE}.steps"
        if where == "cache":
            (stored,) = Path(cache_folder()).glob("*.steps")
        written = stored.stat().st_mtime_ns
        assert same(self.open(folder, where), first)
        assert stored.stat().st_mtime_ns == written
        whole = stored.read_bytes()
        stored.write_bytes(whole[:-3])
        check(folder, self.open(folder, where), episodes)
        assert stored.read_bytes() == whole

    def test_a_changed_file_gets_a_new_index(self, tmp_path):
        folder = write_episodes(tmp_path / "robot", robot_episodes([2, 3]))
        self.open(folder, "sidecar")
        episodes = robot_episodes([4, 1], seed=1)
        write_episodes(folder, episodes)
        check(folder, self.open(folder, "sidecar"), episodes)

    def test_none_stores_nothing(self, tmp_path):
        folder = write_episodes(tmp_path / "robot", robot_episodes([2]))
        before = sorted(os.listdir(folder))
        assert self.open(folder, "none").steps == 2
        assert sorted(os.listdir(folder)) == before
        assert not os.path.exists(cache_folder()) or not os.listdir(cache_folder())

    def test_a_cache_that_cannot_be_written_is_no_error(self, tmp_path, monkeypatch):
        folder = write_episodes(tmp_path / "robot", robot_episodes([2]))
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file" / "cache"))
        assert np.array_equal(self.open(folder, "cache").lengths, [2])
