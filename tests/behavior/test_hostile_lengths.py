"""Lengths that lie: nothing is allocated, nothing wraps around, the error says so."""

from __future__ import annotations

import sys

import framing
import pytest
from processes import run_python

import penstock as ps
from penstock import _core

GIANT = [1 << 62, (1 << 63) - 4, 1 << 63, (1 << 63) + 1, (1 << 64) - 17, (1 << 64) - 16, (1 << 64) - 5, (1 << 64) - 1]


@pytest.mark.parametrize("length", GIANT, ids=hex)
def test_a_giant_length_raises_in_files_and_streams(tmp_path, length):
    data = framing.frame(b"good") + framing.header(length) + b"payload"
    path = tmp_path / "giant.tfrecord"
    path.write_bytes(data)
    reader = ps.RecordReader(path, max_record_bytes=(1 << 64) - 1)
    with pytest.raises(ps.CorruptDataError) as caught:
        list(reader)
    assert (caught.value.offset, caught.value.record) == (20, 1)
    with pytest.raises(ps.CorruptDataError):
        reader.count()
    stream = _core.StreamRecords(max_record_bytes=(1 << 64) - 1)
    chunk, *rest = [*stream.feed(data), *stream.finish()]
    assert list(chunk) == [b"good"]
    assert [fault.record for fault in rest] == [1]


def test_skipping_looks_at_lengths_too(tmp_path):
    path = tmp_path / "wrap.tfrecord"
    path.write_bytes(framing.header((1 << 64) - 4) + framing.frame(b"good"))
    with pytest.raises(ps.CorruptDataError):
        list(ps.RecordReader(path, skip=1))


def test_a_record_above_the_limit_raises_and_one_at_the_limit_does_not(tmp_path):
    path = tmp_path / "limit.tfrecord"
    path.write_bytes(framing.frames([b"x" * 100, b"x" * 101]))
    with pytest.raises(ps.RecordTooLargeError, match="claims 101 bytes") as caught:
        list(ps.RecordReader(path, max_record_bytes=100))
    assert (caught.value.kind, caught.value.record, caught.value.offset) == ("too-large", 1, 116)
    assert len(list(ps.RecordReader(path, max_record_bytes=101))) == 2


def test_a_skipped_record_with_a_damaged_payload_is_an_error(tmp_path):
    path = tmp_path / "skip.tfrecord"
    path.write_bytes(framing.flip(framing.frame(b"bad"), 12) + framing.frame(b"good"))
    with pytest.raises(ps.ChecksumError):
        list(ps.RecordReader(path, skip=1))


@pytest.mark.skipif(sys.platform != "linux", reason="needs an enforced limit on address space")
@pytest.mark.parametrize("way", ["file", "pipe"])
def test_a_length_alone_allocates_nothing(tmp_path, way):
    path = tmp_path / "claim.tfrecord"
    path.write_bytes(framing.header(900 << 20) + bytes(1 << 20))
    code = """
        limit_memory(256 << 20)
        try:
            list(ps.RecordReader(sys.argv[1], threads=1))
        except ps.TruncatedError as error:
            print(error.kind)
    """
    given = {"input": path.read_bytes()} if way == "pipe" else {}
    status, out, err = run_python(code, "-" if way == "pipe" else path, **given)
    assert (status, out.strip(), err) == (0, b"truncated-record", "")
