"""Files are read front to back; gzip members natively, and whatever else a gzip file holds by the stream reader."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

SCHEMA = ps.Schema({"id": int, "name": bytes, "tokens": ps.Feature("int64", (None,))})
ROWS = 60_000


def write(path: Path, rows: range, compression: str = "GZIP") -> Path:
    values = {"id": np.array(rows), "name": [b"row %d" % row for row in rows]}
    values["tokens"] = [list(range(row % 5)) for row in rows]
    with ps.RecordWriter(path, compression=compression) as writer:
        writer.write_many(ps.Encoder(SCHEMA).encode(values))
    return path


def ids(paths: Sequence[Path], size: int, threads: int = 3) -> list[list[int]]:
    ds = ps.Dataset(paths, schema=SCHEMA, threads=threads)
    return [batch["id"].tolist() for batch in ds.batch(size)]


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write(tmp_path_factory.mktemp("members") / "members.tfrecord.gz", range(ROWS))
    assert path.read_bytes().count(b"PS\x08\x00") > 3
    return path


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_members_are_read_in_order_across_files(members: Path, tmp_path: Path, threads: int):
    empty = write(tmp_path / "empty.tfrecord.gz", range(0))
    more = write(tmp_path / "more.tfrecord.gz", range(ROWS, ROWS + 10))
    found = ids([members, empty, more], 1000, threads)
    assert found == [list(range(start, min(start + 1000, ROWS + 10))) for start in range(0, ROWS + 10, 1000)]


def test_columns_of_members_equal_those_of_a_plain_file(members: Path, tmp_path: Path):
    plain = write(tmp_path / "plain.tfrecord", range(ROWS), compression="")
    pairs = zip(*(ps.Dataset(path, schema=SCHEMA).batch(999) for path in (plain, members)), strict=True)
    assert all(one.to_list() == other.to_list() for one, other in pairs)


def test_what_follows_the_members_is_read_as_a_stream(members: Path, tmp_path: Path):
    foreign = tmp_path / "both.tfrecord.gz"
    plain = write(tmp_path / "plain.tfrecord", range(ROWS, ROWS + 300), compression="")
    foreign.write_bytes(members.read_bytes() + gzip.compress(plain.read_bytes()))
    batches = ids([foreign], 128)
    assert [row for batch in batches for row in batch] == list(range(ROWS + 300))
    assert {len(batch) for batch in batches[:-1]} == {128}


def test_rows_before_a_damaged_member_come_before_the_error(members: Path, tmp_path: Path):
    damaged = tmp_path / "damaged.tfrecord.gz"
    data = bytearray(members.read_bytes())
    data[len(data) // 2] ^= 0xFF
    damaged.write_bytes(data)
    found: list[int] = []
    with pytest.raises(ps.CorruptDataError, match=r"damaged\.tfrecord\.gz"):
        for batch in ps.Dataset(damaged, schema=SCHEMA, threads=3).batch(64):
            found += batch["id"].tolist()
    assert found == list(range(len(found)))
    assert ROWS // 4 < len(found) < ROWS


def test_a_record_of_a_member_that_does_not_decode_is_located(members: Path, tmp_path: Path):
    mixed = tmp_path / "mixed.tfrecord.gz"
    other = ps.Encoder(ps.Schema({"id": bytes})).encode({"id": [b"no number"]})
    with ps.RecordWriter(tmp_path / "one.tfrecord.gz", compression="GZIP") as writer:
        writer.write_many(other)
    mixed.write_bytes(members.read_bytes() + (tmp_path / "one.tfrecord.gz").read_bytes())
    found: list[int] = []
    with pytest.raises(ps.MalformedExampleError) as caught:
        for batch in ps.Dataset(mixed, schema=SCHEMA).batch(7):
            found += batch["id"].tolist()
    assert found == list(range(ROWS - ROWS % 7))
    assert caught.value.record == ROWS
