"""Our gzip files: independent members of about 1 MiB, cut at record boundaries, that declare their size."""

from __future__ import annotations

import gzip
import random
import struct

import pytest

import penstock as ps

RECORDS = [random.Random(number).randbytes(3000) for number in range(1500)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("members") / "some.tfrecord.gz"
    with ps.RecordWriter(path) as writer:
        writer.write_many(RECORDS)
    return path


def members(data):
    """Cut a file into members by the size in each header."""
    found = []
    while data:
        extra, name, length, size, count = struct.unpack_from("<H2sHII", data, 10)
        assert data[:4] == b"\x1f\x8b\x08\x04"
        assert (extra, name, length) == (12, b"PS", 8)
        found.append((data[:size], count))
        data = data[size:]
    return found


def test_each_member_is_about_one_mebibyte_of_whole_records(path, tmp_path):
    found = members(path.read_bytes())
    assert sum(count for _, count in found) == len(RECORDS)
    alone = tmp_path / "alone.gz"
    first = 0
    for member, count in found:
        alone.write_bytes(member)
        assert list(ps.RecordReader(alone)) == RECORDS[first : first + count]
        first += count
    sizes = [len(gzip.decompress(member)) for member, _ in found]
    assert all(1 << 20 <= size < (1 << 20) + 4000 for size in sizes[:-1])


def test_members_cost_next_to_nothing(path):
    plain = sum(len(record) + 16 for record in RECORDS)
    assert path.stat().st_size < plain * 1.002


def test_the_whole_is_one_stream_for_everybody(path):
    assert len(gzip.decompress(path.read_bytes())) == sum(len(record) + 16 for record in RECORDS)


def test_a_flush_ends_a_member(tmp_path):
    path = tmp_path / "some.gz"
    with ps.RecordWriter(path) as writer:
        for record in [b"a", b"b", b"c"]:
            writer.write(record)
            writer.flush()
    assert [count for _, count in members(path.read_bytes())] == [1, 1, 1]


def test_a_record_larger_than_a_member_has_one_of_its_own(tmp_path):
    path = tmp_path / "some.gz"
    large = bytes(20 << 20)
    with ps.RecordWriter(path) as writer:
        writer.write_many([b"a", large, b"b"])
    assert list(ps.RecordReader(path)) == [b"a", large, b"b"]
    assert sum(count for _, count in members(path.read_bytes())) == 3
