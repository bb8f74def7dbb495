"""What the check of a whole file finds, on native threads and from a stream."""

from __future__ import annotations

import gzip
from pathlib import Path

import framing

import penstock as ps
from penstock.integrity.verify_file import FileCheck

COUNT = 5000
SCHEMA = ps.Schema({"x": ps.Feature("int64", [100])})
NOT_EXAMPLES = (7, 2500, 2501, 4999)


def payloads() -> list[bytes]:
    good = ps.Encoder(SCHEMA).encode({"x": [list(range(i << 20, (i << 20) + 100)) for i in range(COUNT)]})
    return [b"\xff no Example" if i in NOT_EXAMPLES else record for i, record in enumerate(good)]


def checked(path: Path, schema: ps.Schema | None, threads: int) -> FileCheck:
    check = FileCheck(str(path), schema, threads=threads)
    assert sum(check.run()) == check.records
    return check


def report(check: FileCheck) -> tuple[object, ...]:
    malformed = [(error.record, error.feature) for error in check.payloads.malformed]
    damage = [(error.kind, error.record, error.offset, error.stop) for error in check.damage]
    return check.records, check.bytes, check.before_damage, damage, malformed, check.payloads.are_examples


def test_threads_and_streams_find_the_same(tmp_path: Path):
    records = payloads()
    inside = len(framing.frames(records[:3000])) + 20
    data = framing.flip(framing.frames(records), inside)
    plain, packed = tmp_path / "plain.tfrecord", tmp_path / "packed.tfrecord.gz"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data, 1))
    expected = report(checked(packed, None, 1))
    assert expected[0] == COUNT - 1
    assert expected[2] == 3000
    assert [record for record, _ in expected[4]] == list(NOT_EXAMPLES)  # type: ignore[attr-defined]
    for threads in (1, 3):
        assert report(checked(plain, None, threads)) == expected


def test_a_schema_is_checked_in_every_record(tmp_path: Path):
    path = tmp_path / "short.tfrecord"
    records = payloads()
    records = [record for i, record in enumerate(records) if i not in NOT_EXAMPLES]
    other = ps.Encoder(ps.Schema({"x": ps.Feature("int64", [3])})).encode({"x": [[1, 2, 3]]})
    path.write_bytes(framing.frames([*records, *other]))
    check = checked(path, SCHEMA, 2)
    assert report(check)[4] == [(len(records), "x")]
    assert check.records == len(records) + 1
