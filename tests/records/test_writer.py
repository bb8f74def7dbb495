"""What a writer takes, what it refuses, and that a refusal leaves it usable."""

from __future__ import annotations

import array
import copy
import pickle
import threading

import numpy as np
import pytest

import penstock as ps
from penstock.index import open_index

BYTES_LIKE = [
    b"bytes",
    bytearray(b"bytearray"),
    memoryview(b"xx view xx")[3:7],
    np.bytes_(b"numpy"),
    np.arange(5, dtype=np.uint8),
    array.array("B", [1, 2, 3]),
    b"",
]


def read(path):
    return list(ps.RecordReader(path))


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", "SNAPPY"])
def test_bytes_like_objects_are_written(tmp_path, compression):
    path = tmp_path / "some.tfrecord"
    with ps.RecordWriter(path, compression=compression) as writer:
        for record in BYTES_LIKE:
            writer.write(record)
        writer.write_many(BYTES_LIKE)
        assert writer.count == 2 * len(BYTES_LIKE)
    assert read(path) == [bytes(record) for record in BYTES_LIKE] * 2


@pytest.mark.parametrize("wrong", ["text", None, 7, 1.5, [b"list"]], ids=repr)
def test_anything_else_is_a_type_error_and_the_writer_goes_on(tmp_path, wrong):
    path = tmp_path / "some.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write(b"before")
        with pytest.raises(TypeError, match="bytes-like"):
            writer.write(wrong)
        writer.write(b"after")
    assert read(path) == [b"before", b"after"]


@pytest.mark.parametrize("many", [list, iter], ids=["list", "iterator"])
def test_records_before_a_wrong_one_are_written(tmp_path, many):
    path = tmp_path / "some.tfrecord"
    with ps.RecordWriter(path) as writer:
        with pytest.raises(TypeError):
            writer.write_many(many([b"one", b"two", "three", b"four"]))
        writer.write(b"five")
        assert writer.count == 3
    assert read(path) == [b"one", b"two", b"five"]


@pytest.mark.parametrize("many", [list, tuple, iter], ids=["list", "tuple", "iterator"])
def test_many_records_of_many_sizes(tmp_path, many):
    records = [b"r%d" % number * (number % 700) for number in range(5000)] + [b"L" * (3 << 20), b"end"]
    path = tmp_path / "some.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many(many(records))
    assert read(path) == records


def test_a_reader_is_written_as_it_is(tmp_path):
    source, copy = tmp_path / "source.tfrecord", tmp_path / "copy.tfrecord.gz"
    with ps.RecordWriter(source) as writer:
        writer.write_many([b"a", b"b"])
    with ps.RecordWriter(copy) as writer:
        writer.write_many(ps.RecordReader(source))
        for chunk in ps.RecordReader(source).chunks():
            writer.write_many(chunk)
    assert read(copy) == [b"a", b"b", b"a", b"b"]


def test_an_iterator_that_fails_leaves_what_came_before_and_a_usable_writer(tmp_path):
    def failing():
        yield b"one"
        raise ZeroDivisionError

    path = tmp_path / "some.tfrecord"
    with ps.RecordWriter(path) as writer:
        with pytest.raises(ZeroDivisionError):
            writer.write_many(failing())
        writer.write(b"two")
    assert read(path) == [b"one", b"two"]


def test_a_writer_is_not_copied(tmp_path):
    with ps.RecordWriter(tmp_path / "some.tfrecord") as writer:
        writer.write(b"record")
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                attempt(writer)
    assert read(writer.path) == [b"record"]


def test_the_repr_of_readers_and_writers_names_the_file(tmp_path):
    path = str(tmp_path / "some.tfrecord")
    with ps.RecordWriter(path) as writer:
        writer.write(b"record")
        assert repr(writer) == f"<RecordWriter of {path!r}, 1 written, open>"
    assert repr(writer).endswith(" closed>")
    assert repr(ps.RecordReader(path)) == f"<RecordReader of {path!r}>"


def test_a_record_may_change_after_it_was_written(tmp_path):
    path = tmp_path / "some.tfrecord"
    record = bytearray(b"as it was")
    with ps.RecordWriter(path) as writer:
        writer.write(record)
        writer.write_many([record])
        record[:] = b"overwrite"
        record += b"and grow"
    assert read(path) == [b"as it was"] * 2


@pytest.mark.parametrize("compression", ["gzip", "BOGUS", "NONE", "ZSTD", "zlib"])
def test_a_compression_that_does_not_exist_raises(tmp_path, compression):
    for kind in [ps.RecordReader, ps.RecordWriter, ps.Dataset, open_index]:
        with pytest.raises(ValueError, match="compression must be one of"):
            kind(tmp_path / "some.tfrecord", compression=compression)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("level", [-1, 10, "fast"])
def test_a_level_that_does_not_exist_raises(tmp_path, level):
    with pytest.raises(ValueError, match="level must be from 0 to 9"):
        ps.RecordWriter(tmp_path / "some.gz", level=level)


def test_wrong_arguments_raise_without_further_noise(tmp_path, recwarn):
    with pytest.raises(TypeError):
        ps.RecordWriter(tmp_path / "some", bogus=1)
    with pytest.raises(TypeError, match=r"a path is a str or an os\.PathLike, not int"):
        ps.RecordWriter(3)
    assert not recwarn.list


def test_several_threads_at_once_break_nothing(tmp_path):
    # They raise or take turns; every record that was accepted is whole.
    path = tmp_path / "some.tfrecord"
    records = [bytes([number]) * 200_000 for number in range(8)]
    refused = []

    def write(writer):
        for _ in range(20):
            try:
                writer.write_many(records)
                writer.write(b"single")
            except RuntimeError as error:
                refused.append(str(error))

    with ps.RecordWriter(path) as writer:
        threads = [threading.Thread(target=write, args=(writer,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(read(path)) <= {*records, b"single"}
    assert set(refused) <= {"a writer is for one thread at a time"}
