"""Exhaustive: each bit of a small file flipped, and the file cut at each byte."""

from __future__ import annotations

import framing
import pytest

import penstock as ps

RECORDS = [b"first record", b"", b"\0" * 9, b"the last one, somewhat longer"]
DATA = framing.frames(RECORDS)


def read(path, **options):
    """The records, and the kind of the error that ended them."""
    records = []
    try:
        for record in ps.RecordReader(path, **options):
            records.append(record)
    except ps.CorruptDataError as error:
        assert error.path == str(path)
        return records, error.kind
    return records, None


def test_every_flipped_bit_is_detected(tmp_path):
    path = tmp_path / "flipped.tfrecord"
    for bit in range(8 * len(DATA)):
        path.write_bytes(framing.flip(DATA, bit // 8, 1 << bit % 8))
        records, kind = read(path, compression="", threads=1)
        assert kind is not None, f"bit {bit}"
        assert records == RECORDS[: len(records)], f"bit {bit}"


@pytest.mark.parametrize("position", range(16))
def test_a_flipped_bit_in_the_first_frame_is_detected_when_the_compression_is_guessed(tmp_path, position):
    path = tmp_path / "flipped.tfrecord"
    for bit in range(8):
        path.write_bytes(framing.flip(DATA, position, 1 << bit))
        records, kind = read(path)
        assert (records, kind is None) == ([], False)


def test_every_cut_is_detected_except_between_records(tmp_path):
    path = tmp_path / "cut.tfrecord"
    boundaries = [len(framing.frames(RECORDS[:count])) for count in range(len(RECORDS) + 1)]
    for size in range(len(DATA) + 1):
        path.write_bytes(DATA[:size])
        records, kind = read(path)
        whole = sum(boundary <= size for boundary in boundaries) - 1
        assert records == RECORDS[:whole]
        assert (kind is None) == (size in boundaries), f"cut at {size}"
