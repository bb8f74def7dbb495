"""Which index is used again, and which is rebuilt."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import framing
import pytest
from processes import start_python

import penstock as ps
from penstock.index import load_index, open_index


def refuse(done: int, total: int) -> None:
    raise AssertionError("an index was built")


def test_an_index_is_built_once(write, cache):
    path = write("a.tfrecord")
    assert load_index(path) is None
    open_index(path)
    assert [entry.suffix for entry in cache.iterdir()] == [".index"]
    assert open_index(path, progress=refuse).records == 5000


def test_a_copy_and_a_new_time_find_it(write, tmp_path):
    path = write("a.tfrecord")
    open_index(path)
    copy = tmp_path / "other" / "name.tfrecord"
    copy.parent.mkdir()
    shutil.copy(path, copy)
    os.utime(path, (1, 1))
    assert open_index(path, progress=refuse).records == open_index(copy, progress=refuse).records == 5000


def test_changed_data_is_indexed_again(write):
    path = write("a.tfrecord")
    open_index(path)
    data = path.read_bytes()
    path.write_bytes(data + framing.frame(b"one more"))
    assert load_index(path) is None
    assert open_index(path).records == 5001
    path.write_bytes(framing.flip(data, 100))  # of the same size
    assert load_index(path) is None


def test_nothing_is_stored_on_request(write, cache, tmp_path):
    path = write("a.tfrecord")
    open_index(path, where="none")
    assert not cache.exists()
    assert list(tmp_path.iterdir()) == [path]


def test_a_sidecar_index_is_hidden_from_patterns(write, cache, tmp_path):
    path = write("a.tfrecord")
    open_index(path, where="sidecar")
    assert not cache.exists()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".a.tfrecord.index", "a.tfrecord"]
    assert open_index(path, progress=refuse).records == 5000
    assert list(tmp_path.glob("a*")) == [path]


def test_a_stale_sidecar_index_warns_and_is_replaced(write):
    path = write("a.tfrecord")
    open_index(path, where="sidecar")
    write("a.tfrecord", [b"others"] * 10)
    with pytest.raises(ps.StaleIndexError, match="other data"):
        open_index(path, where="sidecar", stale="error")
    with pytest.warns(UserWarning, match=r"skipped: .*\.a\.tfrecord\.index: it was made for other data"):
        assert open_index(path, where="sidecar").records == 10
    assert open_index(path, stale="error", progress=refuse).records == 10


@pytest.mark.parametrize("content", [b"", b"rubbish", b"{}\n", b"[" * 100_000, os.urandom(1000)])
def test_rubbish_in_the_cache_is_replaced_in_silence(write, cache, content):
    path = write("a.tfrecord")
    open_index(path)
    (kept,) = cache.iterdir()
    good = kept.read_bytes()
    kept.write_bytes(content)
    assert load_index(path) is None
    assert open_index(path).records == 5000
    assert kept.read_bytes() == good


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is a file is enough elsewhere, too")
def test_a_cache_folder_that_cannot_be_is_no_error(write, cache):
    cache.write_text("a file")
    assert open_index(write("a.tfrecord")).records == 5000


def test_a_sidecar_index_in_a_read_only_folder_is_an_error(write, tmp_path):
    path = write("a.tfrecord")
    (tmp_path / ".a.tfrecord.index").mkdir()
    with pytest.raises(OSError, match="directory"):
        open_index(path, where="sidecar")


def test_what_is_measured_of_a_gzip_file_is_stored(write):
    path = write("a.tfrecord.gz")
    open_index(path)
    assert load_index(path).lengths is None
    open_index(path).locations([0])
    assert load_index(path).lengths is not None


def test_an_index_for_another_compression_is_not_used(write):
    path = write("a.tfrecord.gz")
    open_index(path)
    assert load_index(path, compression="GZIP") is not None
    assert load_index(path, compression="") is None
    with pytest.raises(ps.CorruptDataError, match="GZIP"):
        open_index(path, compression="")


def test_many_processes_build_the_same_index_at_once(write, cache):
    path = write("a.tfrecord")
    code = "from penstock.index import open_index; print(open_index(sys.argv[1]).records)"
    processes = [start_python(code, path) for _ in range(4)]
    assert [process.communicate(timeout=30) for process in processes] == [(b"5000\n", b"")] * 4
    assert [entry.suffix for entry in cache.iterdir()] == [".index"]


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/penstock"),
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/penstock"),
        ("darwin", {"HOME": "/home/me"}, "/home/me/Library/Caches/penstock"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/penstock"),
        ("linux", {"PENSTOCK_CACHE": "/mine", "XDG_CACHE_HOME": "/xdg"}, "/mine"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths are written as elsewhere")
def test_the_cache_folder_is_where_the_platform_wants_it(monkeypatch, platform, variables, folder):
    from penstock.index.cache import cache_folder

    for name in ("PENSTOCK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert Path(cache_folder()) == Path(folder)
