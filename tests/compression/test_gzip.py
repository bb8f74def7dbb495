"""Gzip from anybody: several members, padding, wrong trailers, and what is delivered before an error."""

from __future__ import annotations

import gzip
import struct
import zlib

import framing
import pytest

import penstock as ps

RECORDS = [b"record %d" % number * (number % 30) for number in range(300)]
DATA = framing.frames(RECORDS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.tfrecord.gz"


def read(path, **options):
    return list(ps.RecordReader(path, **options))


def read_until_error(path, **options):
    records = []
    with pytest.raises(ps.CorruptDataError) as caught:
        for record in ps.RecordReader(path, **options):
            records.append(record)
    return records, caught.value


def ours(records):
    """A gzip file as Penstock writes it, one member for each list of records."""
    from penstock.compression.gzip import GzipCompressor

    encoder = GzipCompressor(2)
    members = [part for some in records for part in encoder.encode(framing.frames(some), len(some))]
    return b"".join([*members, *encoder.finish()])


@pytest.mark.parametrize("cut", [0, 1, 11, 12, 13, 20, len(DATA) // 2, len(DATA)])
def test_members_may_split_a_record(path, cut):
    path.write_bytes(gzip.compress(DATA[:cut]) + gzip.compress(DATA[cut:]))
    assert read(path) == RECORDS


def test_an_empty_member_in_the_middle_ends_nothing(path):
    path.write_bytes(gzip.compress(DATA) + gzip.compress(b"") + gzip.compress(DATA))
    assert read(path) == RECORDS * 2


def test_members_with_every_optional_field(path):
    flags = 2 | 4 | 8 | 16
    fields = b"\x05\x00extra" + b"a name\0" + b"a comment\0" + b"\x12\x34"
    body = zlib.compress(DATA, wbits=-15)
    trailer = struct.pack("<II", zlib.crc32(DATA), len(DATA))
    member = b"\x1f\x8b\x08" + bytes([flags]) + bytes(5) + b"\x03" + fields + body + trailer
    path.write_bytes(member + gzip.compress(DATA))
    assert read(path) == RECORDS * 2


def test_our_members_and_foreign_ones_mix(path):
    path.write_bytes(ours([RECORDS, RECORDS]) + gzip.compress(DATA) + ours([RECORDS]))
    assert read(path) == RECORDS * 4


@pytest.mark.parametrize("make", [gzip.compress, lambda data: ours([RECORDS])], ids=["foreign", "ours"])
class TestBehindTheLastMember:
    @pytest.mark.parametrize("zeros", [1, 2, 600, 1 << 17])
    def test_zero_padding_is_an_error_after_all_records(self, path, make, zeros):
        path.write_bytes(make(DATA) + bytes(zeros))
        records, error = read_until_error(path)
        assert records == RECORDS
        assert (error.kind, error.record) == ("trailing-bytes", len(RECORDS))
        assert "trailing='zeros'" in str(error)
        assert read(path, trailing="zeros") == read(path, trailing="ignore") == RECORDS

    @pytest.mark.parametrize("garbage", [b"x", b"\0x", b"garbage" * 100, b"\x1f", b"\x1fnot gzip"])
    def test_garbage_is_an_error_after_all_records(self, path, make, garbage):
        path.write_bytes(make(DATA) + garbage)
        for trailing in ["error", "zeros"]:
            records, error = read_until_error(path, trailing=trailing)
            assert records == RECORDS
            assert error.kind == "trailing-bytes"
        assert read(path, trailing="ignore") == RECORDS

    def test_a_wrong_checksum_is_an_error_after_all_records(self, path, make):
        data = make(DATA)
        path.write_bytes(framing.flip(data, len(data) - 8))
        records, error = read_until_error(path)
        assert records == RECORDS
        assert isinstance(error, ps.ChecksumError)
        assert (error.kind, error.record, error.offset) == ("stream-crc", len(RECORDS), len(DATA))

    def test_a_wrong_size_is_an_error_after_all_records(self, path, make):
        data = make(DATA)
        path.write_bytes(framing.flip(data, len(data) - 1))
        records, error = read_until_error(path)
        assert records == RECORDS
        assert isinstance(error, ps.CompressionError)

    @pytest.mark.parametrize("missing", range(1, 9))
    def test_a_missing_trailer_is_an_error_after_all_records(self, path, make, missing):
        path.write_bytes(make(DATA)[:-missing])
        records, error = read_until_error(path)
        assert records == RECORDS
        assert isinstance(error, ps.TruncatedError)
        assert (error.kind, error.record, error.path) == ("truncated-stream", len(RECORDS), str(path))

    def test_a_missing_trailer_is_forgiven_as_a_tail(self, path, make):
        path.write_bytes(make(DATA)[:-3])
        reader = ps.RecordReader(path, on_error="tolerate_tail")
        assert list(reader) == RECORDS
        assert [damage.kind for damage in reader.damage] == ["truncated-stream"]


def test_a_damaged_member_of_ours_costs_the_records_from_there_on(path):
    data = ours([RECORDS, RECORDS, RECORDS])
    start = data.index(b"\x1f\x8b\x08\x04", 10)
    path.write_bytes(data[: start + 40] + b"\xff" * 20 + data[start + 60 :])
    records, error = read_until_error(path)
    assert records[: len(RECORDS)] == RECORDS
    assert len(records) < 2 * len(RECORDS)
    assert isinstance(error, ps.CorruptDataError)


def test_a_member_whose_size_field_lies_is_an_error_or_read_right(path):
    data = ours([RECORDS, RECORDS])
    for size in [0, 1, 27, 28, 100, len(data), 1 << 30, (1 << 32) - 1]:
        path.write_bytes(data[:16] + struct.pack("<I", size) + data[20:])
        try:
            assert read(path) == RECORDS * 2
        except ps.CorruptDataError as error:
            assert error.path == str(path)


def test_damaged_payloads_inside_good_gzip_can_be_skipped(path):
    path.write_bytes(gzip.compress(framing.frame(b"a") + framing.flip(framing.frame(b"b"), 12) + framing.frame(b"c")))
    reader = ps.RecordReader(path, on_error="skip_record")
    assert list(reader) == [b"a", b"c"]
    assert [(damage.record, damage.offset) for damage in reader.damage] == [(1, 17)]


@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_long_streams_of_every_level(path, level):
    records = [b"%d," % number * 2000 for number in range(300)]
    with ps.RecordWriter(path.with_suffix("")) as writer:
        writer.write_many(records)
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes(), level))
    assert read(path) == records
