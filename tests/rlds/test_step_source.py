"""Rows of steps cost what they hold: few bytes are read besides, and memory stays flat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.episodes import robot_episodes, write_episodes
from tests.support.processes import run_python

import penstock as ps


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    return write_episodes(tmp_path / "robot", robot_episodes([40] * 3, decodable=True))


def test_blocks_hold_few_rows_where_a_row_is_large(folder):
    episodes = ps.rlds.open(folder)
    sizes = []
    for steps in (episodes.steps(), episodes.steps(decode=False), episodes.steps().select_columns(["action"])):
        source = steps._pipeline.start.source
        sizes.append(source.block_rows)
        assert source.shards.rows_per_run == source.block_rows
    assert sizes == [256, 256, 256]
    assert episodes.steps(window=2000)._pipeline.start.source.block_rows == 17


def test_a_table_of_encoded_pictures_is_one_of_bytes(folder):
    table = ps.rlds.open(folder).steps().to_arrow()
    expected = robot_episodes([40] * 3, decodable=True)
    assert table.num_rows == 120
    assert table["observation/camera"][41].as_py() == expected[1][1]["observation/camera"]


READ_SHUFFLED = """
import json, os, sys
from pathlib import Path
os.environ["PENSTOCK_CACHE"] = sys.argv[2]
import penstock as ps
episodes = ps.rlds.open(sys.argv[1], threads=1)
def bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])
wanted = 0
steps = episodes.steps(decode=False)
steps = eval(sys.argv[3], {"steps": steps})
next(iter(steps))  # imports what it needs
before = bytes_read()
for step in steps.epoch(0):
    wanted += sum(map(len, step["observation"].values())) - len(step["observation"]["state"])
print(json.dumps([wanted, bytes_read() - before]))
"""


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts the bytes that are read by /proc")
@pytest.mark.parametrize("order", ["steps", "steps.shuffle(seed=1)", "steps.shuffle(seed=1, window=16)"])
def test_few_bytes_are_read_that_no_picture_has(folder, tmp_path, order: str):
    status, printed, errors = run_python(READ_SHUFFLED, folder, tmp_path / "cache", order)
    assert status == 0, errors
    wanted, read = json.loads(printed)
    assert wanted <= read <= 1.2 * wanted


ITERATE = """
import os, resource, sys
os.environ["PENSTOCK_CACHE"] = sys.argv[2]
import numpy as np
import penstock as ps
episodes = ps.rlds.open(sys.argv[1], threads=2)
steps = episodes.steps(window=2, horizon=4).shuffle(seed=1).repeat().batch(32)
iterator = iter(steps)
def peak():
    for _ in range(30):
        next(iterator)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
first = peak()
print(max(peak() for _ in range(3)) - first)
"""


def test_memory_stays_flat(folder, tmp_path):
    status, printed, errors = run_python(ITERATE, folder, tmp_path / "cache")
    assert status == 0, errors
    assert int(printed) < 8 << 20
