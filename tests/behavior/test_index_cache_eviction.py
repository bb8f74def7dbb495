"""The cache of indexes: what is used stays, what is not goes, and nothing else is touched."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from processes import run_python, start_python

from penstock.index import open_index
from penstock.index.cache import path_in_cache

DAY = 24 * 60 * 60


def put(folder: Path, name: str, days_ago: float, size: int = 10) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    with path.open("wb") as file:
        file.truncate(size)
    then = time.time() - days_ago * DAY
    os.utime(path, (then, then))
    return path


def index_name(number: int) -> str:
    return f"{number:032x}.index"


def test_indexes_that_nobody_used_for_long_go_when_one_is_added(write, cache):
    old, recent = put(cache, index_name(1), 91), put(cache, index_name(2), 89)
    added = path_in_cache(open_index(write("a.tfrecord")).identity)
    assert {*cache.iterdir()} == {recent, Path(added)}
    assert not old.exists()


def test_of_too_many_bytes_those_go_that_were_used_first(write, cache):
    files = [put(cache, index_name(days), days, 300 << 20) for days in (1, 2, 3, 4, 5)]  # sparse: they take no room
    open_index(write("a.tfrecord"))
    assert [file.exists() for file in files] == [True, True, True, False, False]


def test_what_a_killed_process_left_goes_and_what_is_being_written_stays(write, cache):
    left = put(cache, f".{index_name(1)}.00c0ffee.partial", 2)
    under_way = put(cache, f".{index_name(1)}.00c0ffef.partial", 0)
    open_index(write("a.tfrecord"))
    assert (left.exists(), under_way.exists()) == (False, True)


def test_other_files_are_left_alone(write, cache):
    others = [put(cache, name, 1000) for name in ("vectors.index", "notes.txt", f"{1:031x}.index", "a.partial")]
    folder = cache / index_name(3)
    folder.mkdir()
    os.utime(folder, (0, 0))
    open_index(write("a.tfrecord"))
    assert all(other.exists() for other in [*others, folder])


def test_an_index_that_is_used_stays(write, cache):
    path, other = write("a.tfrecord"), write("b.tfrecord", [b"other"] * 7)
    kept = Path(path_in_cache(open_index(path).identity))
    os.utime(kept, (0, 0))
    open_index(path)
    code = "from penstock.index import open_index; print(open_index(sys.argv[1]).records)"
    assert run_python(code, other) == (0, b"7\n", "")  # and another process has tidied the folder
    assert kept.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="files that are open stay")
def test_processes_that_tidy_at_once_do_not_disturb_each_other(write, cache):
    for number in range(200):
        put(cache, index_name(number), 100)
    paths = [write(f"{n}.tfrecord", [b"x" * n] * 10) for n in range(1, 5)]
    code = "from penstock.index import open_index; print(open_index(sys.argv[1]).records)"
    started = [start_python(code, path) for path in paths]
    assert [process.communicate()[0].strip() for process in started] == [b"10"] * 4
    assert len([*cache.iterdir()]) == 4
