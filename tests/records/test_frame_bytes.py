"""The bytes of whole records, as TensorFlow writes them."""

from __future__ import annotations

import pytest

import framing
import penstock as ps

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
