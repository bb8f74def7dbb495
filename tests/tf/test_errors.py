"""Errors are TensorFlow's and Penstock's at once."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
import penstock.tf as tf


def test_errors_are_both_tensorflows_and_penstocks(tmp_path: Path):
    with pytest.raises(FileNotFoundError) as missing:
        tf.io.TFRecordWriter(str(tmp_path / "no" / "file"))
    assert isinstance(missing.value, tf.errors.NotFoundError)
    damaged = tmp_path / "damaged"
    with ps.RecordWriter(damaged) as writer:
        writer.write(b"some bytes")
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\0")
    with pytest.raises(tf.errors.DataLossError) as lost:
        list(tf.compat.v1.io.tf_record_iterator(str(damaged)))
    assert isinstance(lost.value, ps.CorruptDataError)
    assert (lost.value.record, lost.value.kind) == (0, "data-crc")
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.read_file(str(tmp_path / "nothing"))
