"""Zlib streams: one is a file, a second one is an error unless asked for, garbage is never skipped silently."""

from __future__ import annotations

import zlib

import framing
import pytest

import penstock as ps

RECORDS = [b"record %d" % number for number in range(300)]
DATA = framing.frames(RECORDS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.tfrecord"


def error_behind_all_records(path, **options):
    records = []
    with pytest.raises(ps.CorruptDataError) as caught:
        for record in ps.RecordReader(path, **options):
            records.append(record)
    assert records == RECORDS
    assert (caught.value.offset, caught.value.record) == (len(DATA), len(RECORDS))
    return caught.value


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("window", [9, 12, 15])
def test_streams_of_every_level_and_window(path, level, window):
    path.write_bytes(zlib.compress(DATA, level, wbits=window))
    assert list(ps.RecordReader(path, compression="ZLIB")) == RECORDS
    assert list(ps.RecordReader(path)) == RECORDS


def test_a_second_stream_is_an_error_or_read_on_request(path):
    path.write_bytes(zlib.compress(DATA) + zlib.compress(DATA))
    error = error_behind_all_records(path)
    assert error.kind == "trailing-bytes"
    assert "multistream=True" in str(error)
    assert list(ps.RecordReader(path, multistream=True)) == RECORDS * 2
    assert list(ps.RecordReader(path, trailing="ignore")) == RECORDS


@pytest.mark.parametrize("garbage", [b"x", b"garbage" * 20])
def test_garbage_after_the_stream(path, garbage):
    path.write_bytes(zlib.compress(DATA) + garbage)
    assert error_behind_all_records(path).kind == "trailing-bytes"
    assert list(ps.RecordReader(path, trailing="ignore")) == RECORDS


def test_zeros_after_the_stream(path):
    path.write_bytes(zlib.compress(DATA) + bytes(100))
    assert error_behind_all_records(path).kind == "trailing-bytes"
    assert list(ps.RecordReader(path, trailing="zeros")) == RECORDS


def test_a_wrong_checksum(path):
    data = zlib.compress(DATA)
    path.write_bytes(framing.flip(data, len(data) - 1))
    error = error_behind_all_records(path)
    assert isinstance(error, ps.ChecksumError)
    assert error.kind == "stream-crc"


def test_a_preset_dictionary_raises(path):
    compressor = zlib.compressobj(zdict=b"record")
    path.write_bytes(compressor.compress(DATA) + compressor.flush())
    with pytest.raises(ps.CompressionError, match="preset dictionary"):
        list(ps.RecordReader(path, compression="ZLIB"))
