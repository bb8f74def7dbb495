"""Repaired files hold every record outside the damage, and no other."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import framing
import fsspec
import numpy as np
import pytest
from damage_model import KINDS, ModelFile, damage, payload
from processes import shown_on_terminal

import penstock as ps
from penstock.index import open_index
from penstock.integrity.repair import _bytes_of
from penstock.records.read_options import ReadOptions
from penstock.records.salvage import Doubtful
from penstock.records.scanner import RecordScanner
from penstock.storage import locate

# A record that holds records, between others; its header and the start of its payload are to be destroyed.
INNER = [b"inner 1", b"inner 2"]
OUTER = [b"before", b"prefix" + framing.frames(INNER), b"after"]


@pytest.fixture
def undecidable(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.tfrecord"
    data = bytearray(framing.frames(OUTER))
    data[22:38] = bytes(16)
    path.write_bytes(data)
    return path


def test_every_recoverable_record_is_saved_or_in_doubt(tmp_path: Path):
    source, target = tmp_path / "damaged.tfrecord", tmp_path / "saved.tfrecord"
    for seed in range(80):
        seeded = random.Random(seed)
        model = ModelFile([payload(seeded, nested=seed % 2 == 0) for _ in range(10)])
        for _ in range(seeded.randint(1, 3)):
            damage(model, seeded.choice(KINDS), seeded)
        source.write_bytes(model.data)
        report = ps.repair(source, target, compression="", replace=True)
        whole = model.whole_records()
        saved = list(ps.RecordReader(target))
        apart = [] if report.doubtful_target is None else list(ps.RecordReader(report.doubtful_target))
        assert (len(saved), len(apart)) == (report.records, report.doubtful)
        # Each is there once, in order; what is missing is in doubt.
        rest = iter(whole.values())
        assert all(record in rest for record in saved), seed
        missing = list(whole.values())
        for record in saved:
            missing.remove(record)
        assert [record for record in missing if record not in apart] == [], seed


@pytest.mark.parametrize("record", [b"some record", framing.frames(INNER)])
def test_a_header_right_before_another_one_is_not_a_record(tmp_path: Path, record: bytes):
    # One that says 8: the length in the next one and its checksum are a payload and its checksum.
    source, target = tmp_path / "damaged.tfrecord", tmp_path / "saved.tfrecord"
    source.write_bytes(framing.frame(b"before") + framing.header(8) + framing.frames([record, b"after"]))
    report = ps.repair(source, target)
    assert (report.lost_ranges, report.doubtful) == ([(22, 34)], 0)
    assert list(ps.RecordReader(target)) == [b"before", record, b"after"]
    # A reader that skips damage has returned it before it knows; the record is then in doubt, not lost.
    if record == b"some record":
        reader = ps.RecordReader(source, on_error="skip")
        assert list(reader) == [b"before", len(record).to_bytes(8, "little"), b"after"]
        assert [(error.kind, error.offset, error.stop) for error in reader.damage] == [("doubtful", 34, 61)]


def test_the_lost_ranges_are_exact(tmp_path: Path):
    seeded = random.Random(4)
    model = ModelFile([seeded.randbytes(100) for _ in range(20)])
    model.flip(3 * 116 + 50, 4)  # a payload
    model.flip(7 * 116 + 1, 4)  # a header
    model.zero(12 * 116 + 60, 200)  # from one payload into the next but one
    (tmp_path / "damaged.tfrecord").write_bytes(model.data[:-1])
    report = ps.repair(tmp_path / "damaged.tfrecord", tmp_path / "saved.tfrecord", nested=False)
    assert report.lost_ranges == [(348, 464), (812, 928), (1392, 1740), (2204, 2319)]
    assert report.causes == {"data-crc": 2, "length-crc": 1, "truncated-record": 1}
    lost = (3, 7, 12, 13, 14, 19)
    assert list(ps.RecordReader(report.target)) == [p for i, p in enumerate(model.payloads) if i not in lost]


def test_records_in_doubt_are_written_to_a_second_file(undecidable: Path, tmp_path: Path):
    report = ps.repair(undecidable, tmp_path / "saved.tfrecord")
    assert list(ps.RecordReader(report.target)) == [OUTER[0], OUTER[2]]
    assert report.doubtful_target == str(tmp_path / "saved.doubtful.tfrecord")
    assert list(ps.RecordReader(report.doubtful_target)) == INNER


def test_nothing_is_in_doubt_if_payloads_hold_no_records(undecidable: Path, tmp_path: Path):
    report = ps.repair(undecidable, tmp_path / "saved.tfrecord", nested=False)
    assert list(ps.RecordReader(report.target)) == [OUTER[0], *INNER, OUTER[2]]
    assert (report.doubtful, report.doubtful_target) == (0, None)


def examples(count: int, **features: object) -> list[bytes]:
    schema = ps.Schema({name: ps.Feature("bytes") for name in features})
    rows = [{name: b"%d %s" % (i, str(value).encode()) for name, value in features.items()} for i in range(count)]
    return [bytes(record) for record in ps.Encoder(schema).encode(rows)]


def with_two_blocks_lost(tmp_path: Path, records: list[bytes]) -> Path:
    """Write a file with two blocks of zeros, at a sixth and at the half of it."""
    data = bytearray(framing.frames(records))
    for at in (len(data) // 6, len(data) // 2):
        data[at : at + 200] = bytes(200)
    path = tmp_path / "damaged.tfrecord"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "records",
    [
        [b"record %d" % i * 5 for i in range(300)],
        examples(300, image="some bytes", name="x"),
        [*examples(280, image="bytes"), framing.frames(examples(20, image="bytes"))],
    ],
    ids=["bytes", "examples", "nested"],
)
def test_between_two_lost_headers_all_is_in_doubt(tmp_path: Path, records: list[bytes]):
    path = with_two_blocks_lost(tmp_path, records)
    report = ps.repair(path, None)
    assert report.doubtful > 90
    settled = ps.repair(path, None, nested=False)
    assert (settled.records, settled.doubtful) == (report.records + report.doubtful, 0)
    for nested, expected in ((True, report), (False, settled)):
        assert len(list(ps.RecordReader(path, on_error="skip", nested=nested))) == expected.records


def test_two_holes_leave_nothing_in_doubt_if_other_records_decide_it(tmp_path: Path):
    path = with_two_blocks_lost(tmp_path, [b"record %d" % i * 5 for i in range(1200)])
    settled, judged = (ps.repair(path, None, nested=nested) for nested in (False, None))
    assert (judged.records, judged.doubtful, judged.lost_ranges) == (settled.records, 0, settled.lost_ranges)
    assert len(list(ps.RecordReader(path, on_error="skip", nested=None))) == settled.records
    # A reader compares what it has read before the first hole: where the end is missing, there is nothing else.
    torn = tmp_path / "torn.tfrecord"
    torn.write_bytes(path.read_bytes()[:37_900])
    left = [len(list(ps.RecordReader(torn, on_error="skip", nested=nested))) for nested in (True, None, False)]
    assert left[0] < left[1] == left[2]


def test_inner_records_like_those_of_the_file_are_not_mixed_with_them(tmp_path: Path):
    # All that is seen speaks for the inner records: hundreds of the same features, none of which holds TFRecords.
    own, inner = examples(200, image="own"), examples(100, image="inner")
    data = bytearray(framing.frames([*own[:150], framing.frames(inner), *own[150:]]))
    at = len(framing.frames(own[:150]))
    stop = at + 16 + len(framing.frames(inner))
    data[at : at + 200] = bytes(200)
    data[stop - 60 : stop + 60] = bytes(120)
    path = tmp_path / "damaged.tfrecord"
    path.write_bytes(data)
    report = ps.repair(path, tmp_path / "saved.tfrecord")
    assert set(ps.RecordReader(report.target)) < set(own)
    assert set(ps.RecordReader(report.doubtful_target)) < set(inner)
    assert report.records > 190


def test_an_index_settles_the_doubt(tmp_path: Path):
    # An index knows a file by its size, head and tail: it is believed as long as those are whole.
    filler = [random.Random(i).randbytes(50_000) for i in range(4)]
    records = [*filler[:2], *OUTER[1:], *filler[2:]]
    path = tmp_path / "data.tfrecord"
    path.write_bytes(framing.frames(records))
    open_index(path, where="sidecar")
    data = bytearray(path.read_bytes())
    at = 2 * 50_016
    data[at : at + 16] = bytes(16)
    path.write_bytes(data)
    report = ps.repair(path, tmp_path / "saved.tfrecord")
    left = [*filler[:2], OUTER[2], *filler[2:]]
    assert list(ps.RecordReader(report.target)) == left
    assert report.doubtful == 0
    assert list(ps.RecordReader(path, on_error="skip")) == left
    assert list(ps.RecordReader(str(path), on_error="skip", nested=False)) == [*left[:2], *INNER, *left[2:]]


def test_the_source_is_never_changed_and_never_the_target(undecidable: Path, tmp_path: Path):
    before = undecidable.read_bytes()
    with pytest.raises(ValueError, match="never changed"):
        ps.repair(undecidable, undecidable, replace=True)
    link = tmp_path / "link.tfrecord"
    link.symlink_to(undecidable)
    with pytest.raises(ValueError, match="never changed"):
        ps.repair(undecidable, link, replace=True)
    ps.repair(undecidable, tmp_path / "saved.tfrecord")
    with pytest.raises(FileExistsError):
        ps.repair(undecidable, tmp_path / "saved.tfrecord")
    assert undecidable.read_bytes() == before


def test_a_report_alone_writes_nothing(undecidable: Path, tmp_path: Path):
    report = ps.repair(undecidable, None)
    assert (report.records, report.doubtful, report.target) == (2, 2, None)
    assert list(tmp_path.iterdir()) == [undecidable]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_shows_the_progress(undecidable: Path, tmp_path: Path):
    code = "import penstock as ps; ps.repair(sys.argv[1], sys.argv[2], progress=sys.argv[3] == 'True')"
    size = undecidable.stat().st_size
    shown = shown_on_terminal(code, undecidable, tmp_path / "saved.tfrecord", True)
    assert b"repairing" in shown
    assert f"of {size} bytes".encode() in shown
    assert shown_on_terminal(code, undecidable, tmp_path / "again.tfrecord", False) == b""


def test_progress_counts_every_byte_once(undecidable: Path):
    options = ReadOptions(multistream=True, on_damage="skip", nested=True)
    events = list(RecordScanner(*locate(undecidable), options, search_first=True))
    assert any(isinstance(event, Doubtful) for event in events)
    assert sum(map(_bytes_of, events)) == undecidable.stat().st_size


def test_a_remote_file_is_saved_to_a_gzip_file(tmp_path: Path):
    data = bytearray(framing.frames([b"a" * 40, b"b" * 40, b"c" * 40]))
    data[56] ^= 1
    fsspec.filesystem("memory").pipe("/damaged.tfrecord", bytes(data))
    report = ps.repair("memory://damaged.tfrecord", tmp_path / "saved.tfrecord.gz")
    assert list(ps.RecordReader(report.target)) == [b"a" * 40, b"c" * 40]
    assert (tmp_path / "saved.tfrecord.gz").read_bytes().startswith(b"\x1f\x8b")


def test_a_dataset_is_repaired_as_a_whole(tmp_path: Path):
    ps.write(tmp_path / "data" / "train", {"x": np.arange(300)}, shards=3)
    first, second, _ = sorted((tmp_path / "data").glob("*.tfrecord"))
    data = bytearray(first.read_bytes())
    data[20] ^= 1
    first.write_bytes(data)
    second.unlink()
    reports = ps.repair_dataset(tmp_path / "data", tmp_path / "saved")
    assert [report.records for report in reports] == [99, 0, 100]
    assert reports[1].causes == {"missing": 1}
    manifest = ps.Manifest.load(tmp_path / "saved" / "train.penstock.json")
    assert manifest.verify(tmp_path / "saved") == []
    assert manifest.records == 199
    assert manifest.schema == ps.Manifest.load(tmp_path / "data" / "train.penstock.json").schema
