"""Files in ``memory://``: the remote protocol without a network."""

from __future__ import annotations

import framing
import fsspec
import pytest

import penstock as ps
from penstock.storage import find_files

RECORDS = [b"record %d" % number for number in range(100)]


@pytest.fixture
def memory():
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.rm("/", recursive=True)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zlib", ".snappy"])
def test_what_is_written_is_read(memory, suffix):
    url = f"memory://folder/some.tfrecord{suffix}"
    with ps.RecordWriter(url) as writer:
        writer.write_many(RECORDS)
    reader = ps.RecordReader(url)
    assert list(reader) == RECORDS
    assert (reader.count(), reader.path, writer.path) == (100, url, url)


def test_the_name_appears_on_close(memory):
    writer = ps.RecordWriter("memory://some.tfrecord")
    writer.write_many(RECORDS)
    writer.flush()
    writer.sync()
    assert not memory.exists("/some.tfrecord")
    writer.close()
    assert memory.cat("/some.tfrecord") == framing.frames(RECORDS)


def test_an_exception_leaves_nothing_new(memory):
    memory.pipe("/old.tfrecord", framing.frame(b"old"))
    for name in ["old", "new"]:
        with pytest.raises(ZeroDivisionError), ps.RecordWriter(f"memory://{name}.tfrecord") as writer:
            writer.write(b"record")
            raise ZeroDivisionError
    assert memory.cat("/old.tfrecord") == framing.frame(b"old")
    assert not memory.exists("/new.tfrecord")


def test_a_file_without_records(memory):
    with ps.RecordWriter("memory://empty.tfrecord"):
        pass
    assert memory.cat("/empty.tfrecord") == b""
    assert list(ps.RecordReader("memory://empty.tfrecord")) == []


def test_damage_is_reported_as_it_is_locally(memory):
    memory.pipe("/bad.tfrecord", framing.frame(b"good") + framing.frame(b"cut")[:-1])
    with pytest.raises(ps.TruncatedError) as caught:
        list(ps.RecordReader("memory://bad.tfrecord"))
    error = caught.value
    assert (error.path, error.kind, error.offset, error.record) == ("memory://bad.tfrecord", "truncated-record", 20, 1)


def test_a_missing_file_and_a_directory(memory):
    memory.pipe("/folder/some.tfrecord", b"")
    with pytest.raises(FileNotFoundError) as caught:
        list(ps.RecordReader("memory://none.tfrecord"))
    assert caught.value.filename == "memory://none.tfrecord"
    with pytest.raises(IsADirectoryError):
        list(ps.RecordReader("memory://folder"))


def test_in_place_raises(memory):
    with pytest.raises(ValueError, match="cannot be written in place"):
        ps.RecordWriter("memory://some.tfrecord", atomic=False)


def test_patterns_and_directories(memory):
    for name in ["a/1.tfrecord", "a/2.tfrecord", "a/b/3.tfrecord", "a/notes.txt"]:
        memory.pipe(f"/{name}", b"")
    assert find_files(["memory://a/*.tfrecord"]) == ["memory:///a/1.tfrecord", "memory:///a/2.tfrecord"]
    assert [name.rsplit("/", 1)[1] for name in find_files(["memory://a"])] == [
        "1.tfrecord",
        "2.tfrecord",
        "3.tfrecord",
    ]
    with pytest.raises(FileNotFoundError, match="No file matches"):
        find_files(["memory://a/*.none"])
    for url in find_files(["memory://a"]):
        assert list(ps.RecordReader(url)) == []
