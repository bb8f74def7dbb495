"""Local paths of every kind, and names that are hard."""

from __future__ import annotations

import os
import sys

import pytest

import penstock as ps
from penstock.storage import find_files, is_remote, locate, split_path


def round_trip(path):
    with ps.RecordWriter(path) as writer:
        writer.write(b"record")
    reader = ps.RecordReader(path)
    assert list(reader) == [b"record"]
    assert reader.count() == 1
    return reader


def test_text_and_path_objects(tmp_path):
    path = tmp_path / "some.tfrecord"
    assert round_trip(path).path == str(path)
    assert round_trip(str(path)).path == str(path)


def test_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    round_trip("some.tfrecord")
    assert os.listdir() == ["some.tfrecord"]


def test_a_file_url(tmp_path):
    round_trip(f"file://{tmp_path}/some.tfrecord")
    assert os.listdir(tmp_path) == ["some.tfrecord"]


@pytest.mark.parametrize("name", ["with space", "größe", "100%", "a#b?"])
def test_the_url_that_a_path_object_writes(tmp_path, name):
    round_trip((tmp_path / name).as_uri())
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["ünïcödé.tfrecord", "with space", "a::b", "star*[1]?.tfrecord", "%20", "new\nline"])
def test_names_that_are_hard(tmp_path, name):
    round_trip(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("folder", ["with space", "größe", "run [2]", "a*b?"])
def test_a_dataset_in_a_folder_whose_name_is_hard(tmp_path, folder):
    path = tmp_path / folder / "train"
    ps.write(path, {"x": range(10)}, shards=2)
    with pytest.raises(FileExistsError):
        ps.write(path, {"x": range(5)})
    ps.write(path, {"x": range(20)}, shards=3, replace=True)
    for name in (path, path.parent, str(path) + ".penstock.json"):
        assert sorted(row["x"] for row in ps.Dataset(name).shuffle(seed=1)) == list(range(20))
    assert len(find_files([path.parent])) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
def test_a_name_that_is_no_text(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\xfe.tfrecord"
    round_trip(os.fsdecode(name))
    with open(name, "r+b") as file:
        file.seek(0, 2)
        file.write(b"stray")
    with pytest.raises(ps.TruncatedError):
        ps.RecordReader(os.fsdecode(name)).count()


def test_large_payloads_are_counted_under_hard_names(tmp_path):
    path = tmp_path / "größe.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many([bytes(100_000)] * 30)
    assert ps.RecordReader(path).count() == 30


@pytest.mark.parametrize("name", ["n" * 255, "ü" * 127], ids=["ASCII", "two bytes each"])
def test_a_name_as_long_as_a_name_may_be(tmp_path, name):
    round_trip(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


def test_what_is_no_path_is_a_type_error():
    for wrong in [None, 3, ["list"]]:
        with pytest.raises(TypeError, match=r"a path is a str or an os\.PathLike"):
            ps.RecordReader(wrong)
    for wrong in [None, 3, [None], [3]]:
        with pytest.raises(TypeError, match=r"a path is a str or an os\.PathLike"):
            ps.Dataset(wrong)


@pytest.mark.parametrize("name", ["", "missing/some.tfrecord", "file/some.tfrecord"])
def test_an_impossible_name_raises_at_once_and_as_it_was_given(tmp_path, monkeypatch, name):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "file").touch()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises((FileNotFoundError, NotADirectoryError)) as caught:
        ps.RecordWriter(name)
    assert caught.value.filename == name
    assert sorted(os.listdir(tmp_path) + os.listdir()) == ["file", "here"]


def test_a_path_in_bytes_is_a_path(tmp_path):
    ps.write(tmp_path / "train", {"x": range(3)})
    path = os.fsencode(tmp_path / "train")
    assert len(ps.Dataset(path)) == len(ps.Dataset([path])) == 3


@pytest.mark.parametrize("path", ["name", "a/b/name", "/name", "s3://bucket/a/name", "./name"])
def test_a_path_is_its_folder_and_its_name(path):
    folder, name = split_path(path)
    assert (folder + name, name) == (path, "name")


def test_no_folder_is_made_that_a_shell_takes_for_a_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    round_trip("some.tfrecord")
    with pytest.raises(ValueError, match=r"no folder named ~ is created; .*os\.path\.expanduser"):
        ps.write("~/data/train", {"x": range(10)})
    with pytest.raises(ValueError, match="no folder named ~ is created"):
        ps.repair("some.tfrecord", "~/saved/some.tfrecord")
    assert os.listdir() == ["some.tfrecord"]
    (tmp_path / "~").mkdir()
    ps.write("~/data/train", {"x": range(10)})  # it is there: somebody wants it
    assert len(ps.Dataset("~/data/train")) == 10


@pytest.mark.parametrize(
    ("path", "latency", "native"),
    [("a/b", "disk", True), ("file:///a", "disk", True), ("-", "stream", False), ("memory://a", "network", False)],
)
def test_a_store_says_what_it_can_do(path, latency, native):
    capabilities = locate(path)[0].capabilities
    assert capabilities.latency == latency
    assert capabilities.native_paths == capabilities.rename == capabilities.append == native
    assert is_remote(path) == (latency == "network")
