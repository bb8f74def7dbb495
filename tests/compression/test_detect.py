"""Which compression is used: detected by content on reading, chosen by name or option on writing."""

from __future__ import annotations

import gzip
import zlib

import framing
import pytest

import penstock as ps
from penstock.index import open_index

RECORDS = [b"record", b"", b"another record" * 100]
MAGIC = {"": framing.header(6), "GZIP": b"\x1f\x8b\x08", "ZLIB": b"\x78"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.tfrecord", ""),
        ("a", ""),
        ("a.tfrecord.gz", "GZIP"),
        ("a.GZ", "GZIP"),
        ("a.gzip", "GZIP"),
        ("a.zlib", "ZLIB"),
        ("a.zz", "ZLIB"),
    ],
)
def test_the_name_decides_when_writing(tmp_path, name, kind):
    with ps.RecordWriter(tmp_path / name) as writer:
        writer.write_many(RECORDS)
    assert (tmp_path / name).read_bytes().startswith(MAGIC[kind])
    assert list(ps.RecordReader(tmp_path / name)) == RECORDS


@pytest.mark.parametrize("kind", MAGIC)
def test_an_option_decides_over_the_name(tmp_path, kind):
    for name in ["a.gz", "a.zlib", "a.tfrecord"]:
        with ps.RecordWriter(tmp_path / name, compression=kind) as writer:
            writer.write_many(RECORDS)
        assert (tmp_path / name).read_bytes().startswith(MAGIC[kind])


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB", "SNAPPY"])
@pytest.mark.parametrize("compression", ["auto", "right"])
def test_content_decides_when_reading_whatever_the_name(tmp_path, kind, compression):
    path = tmp_path / "misleading.gz.zlib.snappy"
    with ps.RecordWriter(path, compression=kind) as writer:
        writer.write_many(RECORDS)
    assert list(ps.RecordReader(path, compression=kind if compression == "right" else "auto")) == RECORDS


@pytest.mark.parametrize("compression", ["", None])
def test_none_means_plain(tmp_path, compression):
    path, schema = tmp_path / "plain.gz", ps.Schema({})
    with ps.RecordWriter(path, compression=compression) as writer:
        writer.write(b"")
    with ps.RecordWriter(path, compression=compression, append=True) as writer:
        writer.write(b"")
    assert path.read_bytes() == framing.frame(b"") * 2
    assert list(ps.RecordReader(path, compression=compression)) == [b"", b""]
    assert open_index(path, compression=compression).records == 2
    assert len(ps.Dataset(path, schema=schema, compression=compression)) == 2
    assert ps.repair(path, None, compression=compression).ok
    manifest = ps.write(tmp_path / "a", [{"x": 1}], compression=compression)
    assert manifest.shards[0].name == "a-00000-of-00001.tfrecord"


@pytest.mark.parametrize("length", [0x0178, 0x9C78, 0x8B1F])
def test_a_length_that_looks_like_a_magic_number_is_plain(tmp_path, length):
    path = tmp_path / "tricky.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write(bytes(length))
    assert list(ps.RecordReader(path)) == [bytes(length)]


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB", "SNAPPY"])
@pytest.mark.parametrize("level", [0, 1, 3, 4, 9])
def test_every_level_round_trips(tmp_path, kind, level):
    path = tmp_path / "some.tfrecord"
    with ps.RecordWriter(path, compression=kind, level=level) as writer:
        writer.write_many(RECORDS)
        writer.flush()
        writer.flush()
        writer.write_many(RECORDS)
    assert list(ps.RecordReader(path)) == RECORDS * 2


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("", b""), ("GZIP", bytes.fromhex("1f8b080000000000000303000000000000000000")), ("SNAPPY", b"")],
)
def test_a_file_without_records_is_what_tensorflow_writes(tmp_path, kind, expected):
    path = tmp_path / "empty"
    with ps.RecordWriter(path, compression=kind) as writer:
        writer.flush()
    assert path.read_bytes() == expected
    assert list(ps.RecordReader(path)) == []


def test_a_zlib_file_without_records_is_a_whole_stream(tmp_path):
    path = tmp_path / "empty"
    with ps.RecordWriter(path, compression="ZLIB"):
        pass
    assert zlib.decompress(path.read_bytes()) == b""
    assert list(ps.RecordReader(path)) == []


def test_standard_tools_read_what_we_write(tmp_path):
    for kind, decompress in [("GZIP", gzip.decompress), ("ZLIB", zlib.decompress)]:
        path = tmp_path / kind
        with ps.RecordWriter(path, compression=kind) as writer:
            writer.write_many(RECORDS)
        assert decompress(path.read_bytes()) == framing.frames(RECORDS)
