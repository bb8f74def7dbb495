"""open_index: where the records of files of all kinds are, and which index is used again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.index import load_index, open_index

RECORDS = [b"x" * (i * 37 % 501) for i in range(5000)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(path: Path, records: list[bytes] = RECORDS, **options: object) -> Path:
    with ps.RecordWriter(path, **options) as writer:
        writer.write_many(records)
    return path


def expected_places(records: list[bytes]) -> tuple[list[int], list[int]]:
    lengths = [len(record) for record in records]
    return [0, *np.cumsum([length + 16 for length in lengths])[:-1].tolist()], lengths


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecord.gz", "a.tfrecord.zz", "a.tfrecord.snappy"])
def test_places_in_files_of_all_kinds(tmp_path, name):
    path = write(tmp_path / name)
    for index in (open_index(path), load_index(path), open_index(path, where="none")):
        assert index is not None
        assert index.records == len(index) == len(RECORDS)
        offsets, lengths = index.places(np.arange(len(RECORDS)))
        assert (offsets.tolist(), lengths.tolist()) == expected_places(RECORDS)
        assert (offsets.dtype, lengths.dtype) == (np.uint64, np.uint64)
        assert index.seekable == (name in ("a.tfrecord", "a.tfrecord.gz"))


def test_members_of_gzip_files_hold_the_records_that_they_tell(tmp_path):
    path = write(tmp_path / "a.tfrecord.gz")
    index = open_index(path)
    members = index.members
    assert members is not None
    assert len(members) > 1
    assert int(members.file_offset[-1]) == path.stat().st_size
    starts, _ = index.places(members.first_record[:-1])
    assert starts.tolist() == members.stream_offset[:-1].tolist()
    rows = np.array([0, 4999, 2500])
    holding = members.holding(rows)
    assert (members.first_record[holding] <= rows).all()
    assert (rows < members.first_record[holding + 1]).all()
