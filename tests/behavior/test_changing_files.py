"""Files that another process changes while they are read give exceptions, never signals or wrong records."""

from __future__ import annotations

import os

import pytest

import penstock as ps

RECORD = b"0123456789abcdef" * 4096


@pytest.fixture(params=["", ".gz"])
def path(request, tmp_path):
    path = tmp_path / f"large.tfrecord{request.param}"
    with ps.RecordWriter(path, level=0) as writer:
        for number in range(640):
            writer.write(number.to_bytes(4, "little") + os.urandom(len(RECORD)))
    return path


def test_a_file_that_shrinks_is_an_error(path):
    chunks = ps.RecordReader(path, threads=2).chunks()
    seen = len(next(chunks))
    os.truncate(path, path.stat().st_size - (1 << 20) - 7)
    with pytest.raises((OSError, ps.TruncatedError)) as caught:
        for chunk in chunks:
            seen += len(chunk)
    assert 0 < seen < 640
    named = caught.value.filename if isinstance(caught.value, OSError) else caught.value.path
    assert named == str(path)


def test_a_file_that_is_emptied_is_an_error(path):
    chunks = ps.RecordReader(path, threads=2).chunks()
    next(chunks)
    os.truncate(path, 0)
    with pytest.raises((OSError, ps.TruncatedError)):
        list(chunks)


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be removed")
def test_a_file_that_is_removed_is_read_to_its_end(path):
    chunks = ps.RecordReader(path).chunks()
    seen = len(next(chunks))
    path.unlink()
    assert seen + sum(map(len, chunks)) == 640


def test_a_file_that_grows_ends_where_it_ended_when_it_was_opened(tmp_path):
    path = tmp_path / "growing.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many([RECORD] * 100)
    chunks = ps.RecordReader(path).chunks()
    seen = len(next(chunks))
    with open(path, "ab") as file:
        file.write(b"half a record")
    assert seen + sum(map(len, chunks)) == 100
