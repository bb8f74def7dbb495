"""SNAPPY as TensorFlow frames it, and blocks that lie."""

from __future__ import annotations

import struct

import cramjam
import framing
import pytest
from framing import snappy_block as block

import penstock as ps

RECORDS = [b"record %d" % number * 20 for number in range(3000)]
DATA = framing.frames(RECORDS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.tfrecord"


def test_blocks_are_read_wherever_they_are_cut(path):
    for size in [100, 5000, 1 << 18]:
        path.write_bytes(b"".join(block(DATA[start : start + size]) for start in range(0, len(DATA), size)))
        assert list(ps.RecordReader(path)) == RECORDS


def test_blocks_are_written_after_their_length_and_hold_at_most_256_kib(path):
    with ps.RecordWriter(path, compression="SNAPPY") as writer:
        writer.write_many(RECORDS)
    data, plain = path.read_bytes(), b""
    while data:
        (size,) = struct.unpack(">I", data[:4])
        piece = bytes(cramjam.snappy.decompress_raw(data[4 : 4 + size]))
        assert 0 < len(piece) <= 1 << 18
        plain += piece
        data = data[4 + size :]
    assert plain == DATA


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (struct.pack(">I", 0xFFFFFFFF), "claims 4294967295 bytes"),
        (struct.pack(">I", 1 << 20) + bytes(1 << 20), "claims 1048576 bytes"),
        (struct.pack(">I", 6) + b"\xff\xff\xff\xff\x0f\x00", "grows to"),
        (struct.pack(">I", 6) + b"garbag", "cannot be decompressed"),
        (struct.pack(">I", 0), "cannot be decompressed"),
    ],
    ids=["length 2^32-1", "length 1 MiB", "declares 4 GiB", "garbage", "empty"],
)
def test_a_block_that_lies_raises_after_the_records_before_it(path, bad, words):
    few = RECORDS[:10]
    path.write_bytes(block(framing.frames(few)) + bad)
    records = []
    with pytest.raises(ps.CompressionError, match=words) as caught:
        for record in ps.RecordReader(path):
            records.append(record)
    assert records == few
    assert (caught.value.record, caught.value.offset) == (10, len(framing.frames(few)))


def test_a_block_larger_than_256_kib_raises(path):
    path.write_bytes(block(framing.frame(bytes(1 << 19))))
    with pytest.raises(ps.CompressionError, match="grows to 524304 bytes"):
        list(ps.RecordReader(path, compression="SNAPPY"))
