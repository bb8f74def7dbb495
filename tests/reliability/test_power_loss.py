"""Whatever part of the unsynced writes a loss of power takes away: what was synced stays, and no name lies."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from reliability.power_loss import WRITERS, Disk, File, lose_power
from reliability.sandbox import Event, Sandbox


@pytest.mark.parametrize("work", WRITERS)
def test_nothing_that_was_synced_is_lost(sandbox: Sandbox, work: str):
    result = lose_power(sandbox, 25, works=[work])
    assert result.losses == 25
    assert result.safe > 0
    assert (result.lost, result.problems) == (0, [])


@pytest.mark.parametrize("work", ["write", "write_dataset"])
def test_the_model_takes_away_what_was_never_synced(sandbox: Sandbox, work: str):
    result = lose_power(sandbox, 25, works=[work])
    assert result.lost or result.problems


def test_the_model_keeps_what_was_synced_and_tears_the_rest_in_sectors():
    file = File(since=[(0, b"a" * 1000)])
    file.safe, file.since = file.all(), [(1000, b"b" * 2000)]
    found = {file.after_loss(random.Random(seed)) for seed in range(50)}
    assert {content[:1000] for content in found} == {b"a" * 1000}
    assert {len(content) for content in found} >= {1000, 3000}
    assert any(0 < content.count(b"b") < 2000 for content in found)


def test_the_model_forgets_names_until_their_folder_is_synced(tmp_path: Path):
    folder, old, new = str(tmp_path), str(tmp_path / "old"), str(tmp_path / "new")
    disk = Disk(tmp_path)
    disk.replay(Event("opened", 1, 0, 0, folder, b""))
    disk.replay(Event("opened", 2, 1, 0, old, b""))
    disk.replay(Event("renamed", 0, 0, 0, f"{old}\t{new}", b""))
    found = {frozenset(disk.after_loss(random.Random(seed))) for seed in range(20)}
    assert found == {frozenset(), frozenset({old}), frozenset({new})}
    disk.replay(Event("synced", 1, 0, 0, "", b""))
    assert {frozenset(disk.after_loss(random.Random(seed))) for seed in range(20)} == {frozenset({new})}
