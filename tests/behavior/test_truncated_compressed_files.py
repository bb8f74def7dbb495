"""Exhaustive: a compressed file cut at every byte is an error, or all records are there."""

from __future__ import annotations

import gzip
import zlib

import framing
import pytest
from framing import snappy_block as block

import penstock as ps
from penstock.compression.gzip import GzipCompressor

RECORDS = [b"record %d" % number * (number % 5) for number in range(20)]
DATA = framing.frames(RECORDS)


def ours(data):
    encoder = GzipCompressor(2)
    half = len(framing.frames(RECORDS[:10]))
    return b"".join([*encoder.encode(data[:half], 10), *encoder.encode(data[half:], 10), *encoder.finish()])


FILES = {
    "GZIP": gzip.compress(DATA),
    "GZIP, ours": ours(DATA),
    "ZLIB": zlib.compress(DATA),
    "SNAPPY": block(DATA[:300]) + block(DATA[300:]),
}


@pytest.mark.parametrize("name", FILES)
def test_every_cut_is_an_error_or_ends_where_a_stream_and_a_record_end(tmp_path, name):
    kind = name.split(",")[0]
    path = tmp_path / "cut"
    whole = FILES[name]
    silent = []
    for size in range(1, len(whole) + 1):
        path.write_bytes(whole[:size])
        records = []
        try:
            for record in ps.RecordReader(path, compression=kind):
                records.append(record)
            silent.append((size, len(records)))
        except ps.CorruptDataError as error:
            assert error.path == str(path)
            assert error.record == len(records)
        assert records == RECORDS[: len(records)]
    members = [(whole.index(b"\x1f\x8b\x08\x04", 1), 10)] if name == "GZIP, ours" else []
    assert silent == [*members, (len(whole), 20)]


@pytest.mark.parametrize("name", FILES)
def test_every_flipped_bit_is_an_error_or_harmless(tmp_path, name):
    kind = name.split(",")[0]
    path = tmp_path / "flipped"
    for position in range(len(FILES[name])):
        path.write_bytes(framing.flip(FILES[name], position, 1 << position % 8))
        records = []
        try:
            for record in ps.RecordReader(path, compression=kind):
                records.append(record)
            assert records == RECORDS  # a name, a time or the like
        except ps.CorruptDataError:
            assert records == RECORDS[: len(records)]


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", "SNAPPY"])
def test_a_file_without_a_byte_has_no_records(tmp_path, kind):
    path = tmp_path / "empty"
    path.touch()
    assert list(ps.RecordReader(path, compression=kind)) == []
    with pytest.raises(ps.TruncatedError):
        list(ps.RecordReader(path, compression=kind, require_nonempty=True))
