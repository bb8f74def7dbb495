"""Files that TensorFlow wrote, kept in interop/golden (made by interop/make_golden.py), are read without TensorFlow."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import penstock as ps

GOLDEN = Path(__file__).parents[2] / "interop" / "golden"
RECORDS = [base64.b64decode(record) for record in json.loads((GOLDEN / "records.json").read_text())]


@pytest.mark.parametrize("compression", ["plain", "gzip", "zlib", "snappy"])
def test_a_file_of_tensorflow_is_read(compression: str) -> None:
    path = GOLDEN / f"tensorflow-2.21-{compression}.tfrecord"
    assert list(ps.RecordReader(path)) == RECORDS
    assert list(ps.RecordReader(path, compression=compression.upper().replace("PLAIN", ""))) == RECORDS
    assert ps.RecordReader(path).count() == len(RECORDS)


@pytest.mark.parametrize("compression", ["plain", "gzip", "zlib", "snappy"])
def test_an_empty_file_of_tensorflow_is_read(compression: str) -> None:
    assert list(ps.RecordReader(GOLDEN / f"tensorflow-2.21-{compression}-empty.tfrecord")) == []


def test_a_plain_file_is_written_as_tensorflow_writes_it(tmp_path: Path) -> None:
    with ps.RecordWriter(tmp_path / "file.tfrecord") as writer:
        writer.write_many(RECORDS)
    assert (tmp_path / "file.tfrecord").read_bytes() == (GOLDEN / "tensorflow-2.21-plain.tfrecord").read_bytes()
