"""Files that users report as corrupt are something else: the message names it."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib

import framing
import pytest

import penstock as ps

PLAIN = framing.frames([b"record"] * 20)
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
PAGE = b"\n<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>"


def message(path, data, **options):
    path.write_bytes(data)
    with pytest.raises(ps.CorruptDataError) as caught:
        list(ps.RecordReader(path, **options))
    assert caught.value.path == str(path)
    assert (caught.value.offset, caught.value.record) == (0, 0)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (LFS, "git lfs pull"),
        (PAGE, "HTML"),
        (b"PK\x03\x04" + bytes(30), "zip archive"),
        (b"PAR1" + b"x" * 30, "a Parquet file, not a TFRecord:  penstock convert FILE -o NAME  makes one"),
        (b'{"label": 1, "image": "abc"}', "JSON text, not a TFRecord:  penstock convert"),
        (bytes(100), "starts with zeros"),
        (b"name,size\r\nGr\xc3\xb6\xc3\x9fe,12\n", "text, not a TFRecord: of .csv and .jsonl, penstock convert"),
        (b"\x07\x80 neither text nor anything known", "is this a TFRecord file at all"),
    ],
)
def test_the_cause_is_named(tmp_path, data, words):
    assert words in message(tmp_path / "file.tfrecord", data)


@pytest.mark.parametrize(
    ("data", "kind"), [(gzip.compress(PLAIN), "GZIP"), (zlib.compress(PLAIN), "ZLIB")], ids=["gzip", "zlib"]
)
def test_compressed_data_read_as_plain(tmp_path, data, kind):
    assert f"this is {kind} data" in message(tmp_path / "file.tfrecord", data, compression="")


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", "SNAPPY"])
def test_plain_data_read_as_compressed(tmp_path, kind):
    assert "this is plain TFRecord data" in message(tmp_path / "file.tfrecord", PLAIN, compression=kind)


def test_one_compression_read_as_another(tmp_path):
    assert "this is GZIP data" in message(tmp_path / "file.tfrecord", gzip.compress(PLAIN), compression="ZLIB")


@pytest.mark.parametrize("outer", [gzip.compress, zlib.compress], ids=["gzip", "zlib"])
def test_what_was_compressed_twice_gets_no_hint_at_another_compression(tmp_path, outer):
    text = message(tmp_path / "file.tfrecord", outer(gzip.compress(PLAIN)))
    assert "is GZIP data: it was compressed twice, unpack it once" in text
    assert "compression=" not in text


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", "SNAPPY"])
def test_a_pointer_or_a_page_read_as_compressed(tmp_path, kind):
    assert "git lfs pull" in message(tmp_path / "file.tfrecord", LFS, compression=kind)
    assert "HTML" in message(tmp_path / "file.tfrecord", PAGE, compression=kind)


def test_gzip_that_holds_something_else_is_not_called_gzip(tmp_path):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("a.tfrecord"))
    text = message(tmp_path / "file.tar.gz", archive.getvalue())
    assert "the inflated GZIP stream is a tar archive" in text
    assert "read it with" not in text


def test_damaged_gzip_gets_no_advice_to_read_it_as_gzip(tmp_path):
    data = bytearray(gzip.compress(PLAIN))
    data[10:20] = b"\xff" * 10
    assert "read it with" not in message(tmp_path / "file.tfrecord.gz", bytes(data))
