"""on_error="skip" in compressed and remote files: every record outside the damage is read there, too."""

from __future__ import annotations

import gzip
import itertools
import random
import zlib
from pathlib import Path

import framing
import fsspec
import pytest
from processes import run_python

import penstock as ps

RECORDS = [random.Random(i).randbytes(60) for i in range(30)]


def members(path: Path) -> list[bytes]:
    """Write the records to a gzip file of ours with ten records in a member, and return its members."""
    cuts = [0]
    with ps.RecordWriter(path) as writer:
        for start in range(0, 30, 10):
            writer.write_many(RECORDS[start : start + 10])
            writer.flush()
    data = path.read_bytes()
    while cuts[-1] < len(data):
        cuts.append(cuts[-1] + int.from_bytes(data[cuts[-1] + 16 : cuts[-1] + 20], "little"))
    return [data[a:b] for a, b in itertools.pairwise(cuts)]


def read(path: Path | str) -> tuple[list[bytes], list[str]]:
    reader = ps.RecordReader(path, on_error="skip")
    records = list(reader)
    return records, [error.kind for error in reader.damage]


@pytest.mark.parametrize("position", [0, 2, 3, 200, -20, -6, -1])
def test_a_damaged_member_costs_its_own_records_alone(tmp_path: Path, position: int):
    path = tmp_path / "file.tfrecord.gz"
    first, second, third = members(path)
    path.write_bytes(first + framing.flip(second, position % len(second), 0x41) + third)
    records, kinds = read(path)
    assert kinds
    assert records[:10] == RECORDS[:10]
    assert records[-10:] == RECORDS[20:]
    assert set(records) <= set(RECORDS)


def test_a_member_that_is_gone_or_cut_short(tmp_path: Path):
    path = tmp_path / "file.tfrecord.gz"
    first, second, third = members(path)
    path.write_bytes(first + second[:100] + third)
    records, kinds = read(path)
    assert [record for record in records if record not in RECORDS] == []
    assert records[:10] + records[-10:] == RECORDS[:10] + RECORDS[20:]
    assert kinds


@pytest.mark.parametrize("position", [12, 17])
def test_a_member_with_a_wrong_size_field_is_read_like_those_of_others(tmp_path: Path, position: int):
    path = tmp_path / "file.tfrecord.gz"
    first, second, third = members(path)
    path.write_bytes(first + framing.flip(second, position, 0x41) + third)
    assert read(path) == (RECORDS, [])


def test_members_of_others_are_found_by_the_records_in_them(tmp_path: Path):
    plain = framing.frames(RECORDS)
    # Cut anywhere: records lie across the members.
    parts = [gzip.compress(plain[start : start + 500]) for start in range(0, len(plain), 500)]
    parts[1] = framing.flip(parts[1], 60)
    path = tmp_path / "file.tfrecord.gz"
    path.write_bytes(b"".join(parts))
    records, kinds = read(path)
    after = RECORDS[1000 // 76 + 1 :]
    assert kinds
    assert records[-len(after) :] == after
    assert records[:6] == RECORDS[:6]


def test_bytes_that_look_like_members_do_not_lead_astray(tmp_path: Path):
    path = tmp_path / "file.tfrecord.gz"
    first, second, third = members(path)
    false = b"\x1f\x8b\x08\0\0\0\0\0\0\x03" * 500
    path.write_bytes(first + second[:50] + false + third)
    records, _ = read(path)
    assert records[:10] + records[-10:] == RECORDS[:10] + RECORDS[20:]


def test_a_zlib_stream_gives_the_records_before_the_damage(tmp_path: Path):
    path = tmp_path / "file.tfrecord.zlib"
    path.write_bytes(zlib.compress(framing.frames(RECORDS))[:-300])
    records, kinds = read(path)
    assert records == RECORDS[: len(records)]
    assert len(records) > 20
    assert kinds == ["truncated-stream"]


@pytest.mark.parametrize("name", ["file.tfrecord", "file.tfrecord.gz"])
def test_frames_after_damage_in_the_stream_itself(tmp_path: Path, name: str):
    plain = framing.flip(framing.frames(RECORDS), 5 * 76 + 2)
    store = fsspec.filesystem("memory")
    data = gzip.compress(plain) if name.endswith("gz") else plain
    store.pipe(f"/{name}", data)
    reader = ps.RecordReader(f"memory://{name}", on_error="skip")
    assert list(reader) == RECORDS[:5] + RECORDS[6:]
    (damage,) = reader.damage
    assert (damage.kind, damage.record, damage.offset, damage.stop) == ("length-crc", 5, 5 * 76, 6 * 76)


def test_chunks_after_damage_state_their_offsets(tmp_path: Path):
    path = tmp_path / "file.tfrecord.gz"
    path.write_bytes(gzip.compress(framing.flip(framing.frames(RECORDS), 5 * 76 + 2)))
    chunks = list(ps.RecordReader(path, on_error="skip").chunks())
    assert [(chunk.first_record, chunk.frame_offset(0), chunk.source) for chunk in chunks] == [
        (0, 0, str(path)),
        (6, 6 * 76, str(path)),
    ]


def test_standard_input_ends_at_a_damaged_header():
    code = """
        reader = ps.RecordReader("-", on_error="skip")
        print(len(list(reader)), [error.kind for error in reader.damage])
    """
    data = framing.flip(framing.frames(RECORDS), 2 * 76 + 20)
    assert run_python(code, input=data) == (0, b"29 ['data-crc']\n", "")
    assert run_python(code, input=framing.flip(data, 5 * 76)) == (0, b"4 ['data-crc', 'length-crc']\n", "")
