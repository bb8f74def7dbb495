"""What a reader returns for each kind of plain input, whole or damaged."""

from __future__ import annotations

import framing
import pytest

import penstock as ps

RECORDS = [b"one", b"", b"three" * 5]


@pytest.fixture
def file_of(tmp_path):
    def write(data: bytes):
        path = tmp_path / "some.tfrecord"
        path.write_bytes(data)
        return path

    return write


def read_until_error(reader):
    """The records before the error, and the error."""
    records = []
    with pytest.raises(ps.CorruptDataError) as caught:
        for record in reader:
            records.append(record)
    return records, caught.value


def test_an_empty_file_has_no_records(file_of):
    assert list(ps.RecordReader(file_of(b""))) == []


def test_an_empty_file_is_an_error_on_request(file_of):
    path = file_of(b"")
    for policy in ["raise", "tolerate_tail", "skip_record"]:
        with pytest.raises(ps.TruncatedError, match="is empty") as caught:
            list(ps.RecordReader(path, require_nonempty=True, on_error=policy))
        assert caught.value.kind == "empty"


def test_an_empty_record_is_a_record(file_of):
    assert list(ps.RecordReader(file_of(framing.frame(b"") * 3))) == [b"", b"", b""]


def test_every_iteration_starts_again(file_of):
    reader = ps.RecordReader(file_of(framing.frames(RECORDS)))
    assert list(reader) == list(reader) == RECORDS


@pytest.mark.parametrize("stray", range(1, 12))
def test_stray_bytes_at_the_end_are_an_error(file_of, stray):
    whole = framing.frames(RECORDS)
    path = file_of(whole + framing.frame(b"next")[:stray])
    records, error = read_until_error(ps.RecordReader(path))
    assert records == RECORDS
    assert type(error) is ps.TruncatedError
    assert (error.kind, error.path) == ("truncated-header", str(path))
    assert (error.offset, error.record, error.stop) == (len(whole), 3, len(whole) + stray)


@pytest.mark.parametrize("missing", [1, 3, 4, 5, 8])
def test_a_short_payload_or_checksum_reports_needed_and_existing_bytes(file_of, missing):
    whole = framing.frames(RECORDS)
    last = framing.frame(b"next")
    records, error = read_until_error(ps.RecordReader(file_of(whole + last[:-missing])))
    assert records == RECORDS
    assert type(error) is ps.TruncatedError
    assert (error.kind, error.offset, error.record) == ("truncated-record", len(whole), 3)
    assert f"{len(last)} bytes needed, {len(last) - missing} there" in str(error)


def test_a_damaged_header(file_of):
    good = framing.frame(b"good")
    records, error = read_until_error(ps.RecordReader(file_of(good + framing.flip(good, 9) + good)))
    assert records == [b"good"]
    assert type(error) is ps.ChecksumError
    assert (error.kind, error.offset, error.record, error.stop) == ("length-crc", len(good), 1, None)


def test_a_damaged_payload_reports_the_record_and_the_payload(file_of):
    good = framing.frame(b"good")
    records, error = read_until_error(ps.RecordReader(file_of(good + framing.flip(good, 13) + good)))
    assert records == [b"good"]
    assert type(error) is ps.ChecksumError
    assert (error.kind, error.offset, error.record, error.stop) == ("data-crc", 20, 1, 40)
    assert "record 1, byte 20 (payload at byte 32)" in str(error)


def test_a_zero_filled_tail_is_an_error(file_of):
    records, error = read_until_error(ps.RecordReader(file_of(framing.frames(RECORDS) + bytes(4096))))
    assert records == RECORDS
    assert error.kind == "length-crc"


def test_payload_damage_passes_without_verify(file_of):
    data = framing.flip(framing.frame(b"good"), 13)
    assert list(ps.RecordReader(file_of(data), verify=False)) == [b"gnod"]


def test_headers_are_checked_without_verify(file_of):
    _, error = read_until_error(ps.RecordReader(file_of(framing.flip(framing.frame(b"good"), 0)), verify=False))
    assert error.kind == "length-crc"


def test_a_missing_file_raises_when_it_is_read(tmp_path):
    reader = ps.RecordReader(tmp_path / "none.tfrecord")
    for attempt in [lambda: list(reader), reader.count]:
        with pytest.raises(FileNotFoundError) as caught:
            attempt()
        assert caught.value.filename == str(tmp_path / "none.tfrecord")


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        list(ps.RecordReader(tmp_path))
    assert caught.value.filename == str(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"on_error": "ignore"},
        {"trailing": "all"},
        {"skip": -1},
        {"skip": "1"},
        {"threads": 0},
        {"threads": True},
        {"max_record_bytes": -1},
        {"max_record_bytes": 1e9},
        {"compression": 2},
    ],
    ids=str,
)
def test_an_option_that_means_nothing_raises_at_once(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ps.RecordReader("any.tfrecord", **wrong)
