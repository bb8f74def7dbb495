"""The bytes of whole records, as TensorFlow writes them."""

from __future__ import annotations

import random

import framing
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import _core

WHOLE = {
    b"": "000000000000000029039807d8ea82a2",
    b"\0": "01000000000000000175de4100d28f2549",
    b"abc": "0300000000000000b099490e6162636e57f121",
    b"foo": "0300000000000000b099490e666f6f618abefe",
}


@pytest.mark.parametrize("payload", WHOLE)
def test_records_are_written_with_exactly_these_bytes(payload, tmp_path):
    path = tmp_path / "one.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write(payload)
    assert path.read_bytes().hex() == WHOLE[payload]
    assert framing.frame(payload).hex() == WHOLE[payload]


@pytest.mark.parametrize("payload", WHOLE)
def test_these_bytes_are_read_as_records(payload, tmp_path):
    path = tmp_path / "one.tfrecord"
    path.write_bytes(bytes.fromhex(WHOLE[payload]))
    assert list(ps.RecordReader(path)) == [payload]


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 100, 2047, 2048, 2049, 16_384, 16_385, 70_000]), st.integers(1, 3))),
    st.integers(0, 2**32 - 1),
)
def test_the_checksum_of_frames_is_that_of_their_bytes(runs, start):
    frames = _core.FrameBuffer()
    for length, times in runs:
        for i in range(times):
            frames.append(random.Random(length + i).randbytes(length))
    expected = frames.crc32c(start)
    assert expected == _core.crc32c(frames.take(), start)
