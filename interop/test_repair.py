"""TensorFlow reads what was repaired, and what was appended to, to the last record."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from oracle import Oracle, Outcome

import penstock as ps

RECORDS = [random.Random(i).randbytes(500) for i in range(40)]
LOST = (3, 10, 11, 39)


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_repaired_files(oracle: Oracle, tmp_path: Path, compression: str) -> None:
    source = tmp_path / "damaged.tfrecord"
    with ps.RecordWriter(source) as writer:
        writer.write_many(RECORDS)
    data = bytearray(source.read_bytes())
    data[3 * 516 + 100] ^= 1
    data[10 * 516 + 300 : 11 * 516 + 200] = bytes(416)
    source.write_bytes(data[:-1])
    target = tmp_path / ("saved.tfrecord.gz" if compression else "saved.tfrecord")
    cautious = ps.repair(source, None)
    assert cautious.records + cautious.doubtful == 36  # nothing is lost where it is not known whose a record is
    assert ps.repair(source, target, nested=False).records == 36
    assert oracle.read((bytes(data[:-1]), ""), reader="dataset") == [Outcome(RECORDS[:3], "DataLossError")]
    saved = [record for i, record in enumerate(RECORDS) if i not in LOST]
    assert oracle.read((target.read_bytes(), compression), reader="dataset") == [Outcome(saved, None)]


@pytest.mark.parametrize("compression", ["", "GZIP"])
@pytest.mark.parametrize("first", [0, 20])
def test_files_that_were_appended_to(oracle: Oracle, tmp_path: Path, compression: str, first: int) -> None:
    path = tmp_path / "file"
    with ps.RecordWriter(path, compression=compression) as writer:
        writer.write_many(RECORDS[:first])
    for record in RECORDS[first:]:
        with ps.RecordWriter(path, append=True, compression=compression) as writer:
            writer.write(record)
    assert oracle.read((path.read_bytes(), compression), reader="dataset") == [Outcome(RECORDS, None)]


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_files_of_tensorflow_are_appended_to(oracle: Oracle, tmp_path: Path, compression: str) -> None:
    (data,) = oracle.write((RECORDS[:20], compression))
    path = tmp_path / "file"
    path.write_bytes(data)
    with ps.RecordWriter(path, append=True) as writer:
        writer.write_many(RECORDS[20:])
    assert oracle.read((path.read_bytes(), compression), reader="dataset") == [Outcome(RECORDS, None)]
