"""Coarse pieces: a buffer and its spans, alive as long as somebody looks, and the count."""

from __future__ import annotations

import gzip
import hashlib

import framing
import numpy as np
import pytest

import penstock as ps
from penstock import _core

RECORDS = [b"%d" % number * (number % 50) for number in range(500)]


@pytest.fixture(params=["plain", "gzip"])
def path(request, tmp_path):
    data = framing.frames(RECORDS)
    path = tmp_path / f"some-{request.param}.tfrecord"
    path.write_bytes(gzip.compress(data) if request.param == "gzip" else data)
    return path


def large_file(path, megabytes):
    with ps.RecordWriter(path) as writer:
        writer.write_many(hashlib.sha256(b"%d" % number).digest() * 512 for number in range(megabytes * 64))


def test_spans_point_at_the_payloads(path):
    found = []
    for chunk in ps.RecordReader(path).chunks():
        assert chunk.spans.shape == (len(chunk), 2)
        assert chunk.spans.dtype == np.uint64
        found += [chunk.buffer[start : start + length].tobytes() for start, length in chunk.spans.tolist()]
    assert found == RECORDS


def test_a_chunk_is_a_sequence(path):
    (chunk,) = ps.RecordReader(path).chunks()
    assert (len(chunk), chunk[0], chunk[-1]) == (500, RECORDS[0], RECORDS[-1])
    assert list(chunk[10:20]) == RECORDS[10:20]
    assert chunk[10:20].first_record == 10
    assert list(chunk[10:20][5:]) == RECORDS[15:20]
    assert len(chunk[600:]) == 0
    for index in [500, -501]:
        with pytest.raises(IndexError):
            chunk[index]
    with pytest.raises(ValueError, match="step 1"):
        chunk[::2]
    with pytest.raises(IndexError):
        chunk.frame_offset(500)


def test_records_across_blocks_come_with_their_neighbours(tmp_path):
    path = tmp_path / "large.tfrecord"
    records = [b"%d" % (number % 10) * (190_000 + 1_000 * (number % 7)) for number in range(100)]
    with ps.RecordWriter(path) as writer:
        writer.write_many(records)
    chunks = list(ps.RecordReader(path, threads=2).chunks())
    assert [record for chunk in chunks for record in chunk] == records
    # A record that is gathered in memory of its own is copied twice, and is a chunk of its own.
    assert min(map(len, chunks[:-1])) > 1


def test_buffers_cannot_be_written_to(path):
    chunk = next(ps.RecordReader(path).chunks())
    with pytest.raises(ValueError, match="read-only"):
        chunk.buffer[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        chunk.spans[0, 0] = 0


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_memory_is_never_reused_while_somebody_looks_at_it(tmp_path, suffix):
    path = tmp_path / f"large.tfrecord{suffix}"
    large_file(path, 12)
    kept = [(chunk.buffer, chunk.spans) for chunk in ps.RecordReader(path).chunks()]
    number = 0
    for buffer, spans in kept:
        for start, length in spans.tolist():
            expected = hashlib.sha256(b"%d" % number).digest() * 512
            assert buffer[start : start + length].tobytes() == expected
            number += 1
    assert number == 12 * 64


def test_skip_leaves_records_out_at_the_start(path):
    for count in [0, 1, 499, 500, 501]:
        reader = ps.RecordReader(path, skip=count)
        assert list(reader) == RECORDS[count:]
        assert reader.count() == len(RECORDS[count:])


def test_count_of_small_and_of_large_payloads(tmp_path):
    path = tmp_path / "some.tfrecord"
    for records in [[], [b""], RECORDS, [b"x" * 50_000] * 60, [b"small"] * 1000 + [b"x" * 200_000] * 12]:
        with ps.RecordWriter(path) as writer:
            writer.write_many(records)
        assert ps.RecordReader(path).count() == len(records)


@pytest.mark.parametrize("size", [10, 60_000])
def test_count_finds_what_is_wrong_with_headers_and_lengths(tmp_path, size):
    path = tmp_path / "some.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many([b"x" * size] * 40)
    data = path.read_bytes()
    frame = size + 16
    for damaged, kind in [
        (framing.flip(data, 39 * frame), "length-crc"),
        (data[:-1], "truncated-record"),
        (data + b"stray", "truncated-header"),
        (data + framing.header(1 << 40), "too-large"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(ps.CorruptDataError) as caught:
            ps.RecordReader(path).count()
        whole = 40 if len(damaged) > len(data) else 39
        assert (caught.value.kind, caught.value.record, caught.value.offset) == (kind, whole, whole * frame)
        reader = ps.RecordReader(path, on_error="skip_file")
        assert reader.count() == whole
        assert [damage.kind for damage in reader.damage] == [kind]


def test_a_chunk_of_records_that_came_from_no_file_counts_from_zero():
    chunk = _core.chunk_from_records([b"abc", b"de"])
    assert [chunk.frame_offset(0), chunk.frame_offset(1)] == [0, 3]
