"""``TFRecordDataset``."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock.tf as tf
from penstock.errors import CorruptDataError

Dataset = tf.data.Dataset


def test_damage_raises_after_the_records_before_it(tmp_path: Path):
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(3):
            writer.write(bytes([number]) * 10)
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)
    whole = tf.data.TFRecordDataset(path)
    for ds in (
        whole,
        whole.map(lambda record: record),
        whole.map(lambda record: record if len(record.numpy()) else ""),
    ):
        records = iter(ds)
        assert [next(records).numpy()[0] for _ in range(2)] == [0, 1]
        with pytest.raises(CorruptDataError) as raised:
            next(records)
        assert isinstance(raised.value, tf.errors.DataLossError)
        assert raised.value.record == 2
