"""Indexes of files at URLs: read once from start to end, without seeking."""

from __future__ import annotations

import fsspec
import numpy as np
import pytest

import penstock as ps
from penstock.index import load_index, open_index

RECORDS = [b"x" * (i * 37 % 501) for i in range(5000)]


@pytest.fixture
def memory():
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.rm("/", recursive=True)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zz", ".snappy"])
def test_locations_in_files_of_all_kinds(memory, suffix, tmp_path):
    url = f"memory://folder/a.tfrecord{suffix}"
    local = tmp_path / f"a.tfrecord{suffix}"
    for path in (url, local):
        with ps.RecordWriter(path) as writer:
            writer.write_many(RECORDS)
    calls: list[tuple[int, int]] = []
    found = open_index(url, progress=lambda done, total: calls.append((done, total)), where="none")
    assert calls[-1] == (local.stat().st_size, local.stat().st_size)
    expected = open_index(local)
    rows = np.arange(5000)
    assert [part.tolist() for part in found.locations(rows)] == [part.tolist() for part in expected.locations(rows)]
    assert (found.seekable, found.identity) == (expected.seekable, expected.identity)
    if expected.members is not None:
        assert found.members.file_offset.tolist() == expected.members.file_offset.tolist()
        assert found.members.first_record.tolist() == expected.members.first_record.tolist()


def test_it_is_stored_in_the_cache_or_as_a_sidecar(memory):
    with ps.RecordWriter("memory://folder/a.tfrecord") as writer:
        writer.write_many(RECORDS)
    assert load_index("memory://folder/a.tfrecord") is None
    open_index("memory://folder/a.tfrecord", where="sidecar")
    assert memory.exists("/folder/.a.tfrecord.index")
    assert load_index("memory://folder/a.tfrecord").records == 5000


def test_members_are_found_however_the_pieces_are_cut(tmp_path):
    from penstock.index.gzip_members import MemberWatch, hop_members

    path = tmp_path / "a.tfrecord.gz"
    with ps.RecordWriter(path) as writer:
        writer.write_many(RECORDS * 3)
    data = path.read_bytes()
    expected = hop_members(str(path), len(data))
    for size in (1, 2, 23, 24, 25, 1000, len(data)):
        watch = MemberWatch(len(data))
        for start in range(0, len(data), size):
            watch.see(data[start : start + size])
        assert watch.members.file_offset.tolist() == expected.file_offset.tolist()
        assert watch.members.first_record.tolist() == expected.first_record.tolist()
