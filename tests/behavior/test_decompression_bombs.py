"""A small file that inflates without end is read in bounded memory."""

from __future__ import annotations

import gzip
import shutil
import struct
import sys
import zlib

import framing
import pytest
from processes import run_python

import penstock as ps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs an enforced limit on address space")

ZEROS = 512 << 20

READ = """
    limit_memory(60 << 20)
    try:
        for record in ps.RecordReader(sys.argv[1], threads=1, max_record_bytes=100 << 20):
            pass
    except ps.PenstockError as error:
        print(type(error).__name__, error.record)
"""


def block(data):
    """Raw deflate that can be repeated."""
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)


@pytest.fixture(scope="module")
def body():
    """Raw deflate of a record, of a header that claims more than may be read, and of zeros without end after it."""
    start = framing.frame(b"good") + framing.header(ZEROS + 1)
    return block(start) + block(bytes(1 << 20)) * (ZEROS >> 20) + zlib.compress(b"", wbits=-15)


def test_a_foreign_member(tmp_path, body):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"")[:10] + body + bytes(8))
    assert run_python(READ, path) == (0, b"RecordTooLargeError 1\n", "")


@pytest.mark.parametrize("size", [100, ZEROS & 0xFFFFFFFF])
def test_a_member_that_claims_to_be_ours(tmp_path, body, size):
    path = tmp_path / "bomb.gz"
    whole = 24 + len(body) + 8
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\x03" + struct.pack("<H2sHII", 12, b"PS", 8, whole, 1)
    path.write_bytes(head + body + struct.pack("<II", 0, size))
    assert run_python(READ, path) == (0, b"RecordTooLargeError 1\n", "")


def test_garbage_after_the_stream_is_counted_without_storing_it(tmp_path):
    path = tmp_path / "padded.gz"
    with open(path, "wb") as file:
        file.write(gzip.compress(framing.frame(b"good")))
        file.truncate(256 << 20)
    assert run_python(READ, path) == (0, b"CompressionError 1\n", "")


def test_a_damaged_bomb_does_not_fill_the_disk(tmp_path, monkeypatch):
    # Damage, and after it a member that inflates to more than there is room for.
    path = tmp_path / "bomb.tfrecord.gz"
    damaged = bytearray(framing.frames([b"first", b"second"]))
    damaged[3] ^= 1
    path.write_bytes(gzip.compress(bytes(damaged)) + gzip.compress(bytes(64 << 20)))
    free = shutil.disk_usage(tmp_path)._replace(free=16 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    reader = ps.RecordReader(path, on_error="skip")
    assert list(reader) == []
    assert reader.damage[-1].kind == "no-room"
