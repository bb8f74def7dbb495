"""What each policy does with each kind of damage, and what it reports afterwards."""

from __future__ import annotations

import framing
import pytest

import penstock as ps

GOOD = framing.frame(b"good")
BAD_PAYLOAD = framing.flip(GOOD, 13)
BAD_HEADER = framing.flip(GOOD, 0)

DAMAGE = {
    "data-crc": GOOD + BAD_PAYLOAD + GOOD + BAD_PAYLOAD + BAD_PAYLOAD + GOOD,
    "length-crc": GOOD + BAD_HEADER + GOOD,
    "truncated-header": GOOD + GOOD[:5],
    "truncated-record": GOOD + GOOD[:-1],
    "too-large": GOOD + framing.header(1 << 40) + GOOD,
}


@pytest.fixture(params=DAMAGE)
def kind(request):
    return request.param


@pytest.fixture
def damaged(kind, tmp_path):
    path = tmp_path / f"{kind}.tfrecord"
    path.write_bytes(DAMAGE[kind])
    return path


def test_raise_gives_the_good_records_before_the_damage(damaged, kind):
    iterator = iter(ps.RecordReader(damaged))
    assert next(iterator) == b"good"
    with pytest.raises(ps.CorruptDataError) as caught:
        next(iterator)
    assert caught.value.kind == kind


def test_tolerate_tail_forgives_an_incomplete_end_only(damaged, kind):
    reader = ps.RecordReader(damaged, on_error="tolerate_tail")
    if kind.startswith("truncated"):
        assert list(reader) == [b"good"]
        (damage,) = reader.damage
        assert (damage.kind, damage.offset, damage.stop) == (kind, 20, len(DAMAGE[kind]))
    else:
        with pytest.raises(ps.CorruptDataError):
            list(reader)


def test_skip_record_skips_damaged_payloads_only(damaged, kind):
    reader = ps.RecordReader(damaged, on_error="skip_record")
    if kind == "data-crc":
        assert list(reader) == [b"good"] * 3
        assert [(d.record, d.offset, d.stop) for d in reader.damage] == [(1, 20, 40), (3, 60, 80), (4, 80, 100)]
    else:
        with pytest.raises(ps.CorruptDataError) as caught:
            list(reader)
        assert caught.value.kind == kind


def test_skip_file_ends_at_the_first_damage(damaged, kind):
    reader = ps.RecordReader(damaged, on_error="skip_file")
    assert list(reader) == [b"good"]
    assert [(damage.kind, damage.record) for damage in reader.damage] == [(kind, 1)]


def test_damage_is_that_of_the_last_iteration(damaged):
    reader = ps.RecordReader(damaged, on_error="skip_file")
    assert reader.damage == []
    list(reader)
    list(reader)
    assert len(reader.damage) == 1


def test_chunks_leave_damaged_records_out_and_keep_the_numbers(tmp_path):
    path = tmp_path / "some.tfrecord"
    path.write_bytes(DAMAGE["data-crc"])
    chunks = list(ps.RecordReader(path, on_error="skip_record").chunks())
    assert [(chunk.first_record, len(chunk)) for chunk in chunks] == [(0, 1), (2, 1), (5, 1)]
    assert [chunk.frame_offset(0) for chunk in chunks] == [0, 40, 100]


def test_skip_brings_back_every_whole_record(damaged, kind):
    reader = ps.RecordReader(damaged, on_error="skip")
    whole = {"data-crc": 3, "length-crc": 2, "truncated-header": 1, "truncated-record": 1, "too-large": 1}
    assert list(reader) == [b"good"] * whole[kind]
    # A header that checks itself claims what follows, so that nobody knows whose record that is.
    assert {damage.kind for damage in reader.damage} - {"doubtful"} == {kind}
    assert ("doubtful" in {damage.kind for damage in reader.damage}) == (kind == "too-large")


def test_skip_counts_what_it_brings_back(tmp_path):
    large = framing.frame(bytes(64 << 10))
    path = tmp_path / "large.tfrecord"
    path.write_bytes(large * 20 + framing.flip(large, 0) + large * 20)
    reader = ps.RecordReader(path, on_error="skip")
    assert reader.count() == len(list(reader)) == 40


def test_skip_reports_the_damaged_range(tmp_path):
    path = tmp_path / "file.tfrecord"
    path.write_bytes(GOOD + BAD_HEADER[:12] + b"some bytes that are no record" + GOOD)
    reader = ps.RecordReader(path, on_error="skip")
    assert list(reader) == [b"good", b"good"]
    (damage,) = reader.damage
    assert (damage.kind, damage.offset, damage.stop) == ("length-crc", 20, 20 + 12 + 29)


def test_skip_finds_headers_across_the_blocks_that_are_searched(tmp_path):
    path = tmp_path / "file.tfrecord"
    for gap in range((1 << 20) - 14, (1 << 20) + 2):
        path.write_bytes(BAD_HEADER[:12] + b"\1" * (gap - 11) + GOOD)
        assert list(ps.RecordReader(path, on_error="skip")) == [b"good"]


def test_skip_of_many_false_headers_takes_linear_time(tmp_path):
    # Each header checks itself and claims all that is left: checking every one of them in full would be quadratic.
    size = 1 << 19
    path = tmp_path / "file.tfrecord"
    headers = b"".join(framing.header(size - 12 * i - 16) for i in range(1, size // 12))
    path.write_bytes(b"\1" * 12 + headers)
    reader = ps.RecordReader(path, on_error="skip")
    assert list(reader) == []
    edges = [0, *(edge for error in reader.damage for edge in (error.offset, error.stop)), path.stat().st_size]
    assert edges[::2] == edges[1::2]


def test_skip_is_not_misled_by_a_damaged_header_that_looks_like_a_zlib_stream(tmp_path):
    path = tmp_path / "file.tfrecord"
    data = framing.frame(b"\xff" * 376) + GOOD * 3  # 376 is 78 01 in the file
    path.write_bytes(framing.flip(data, 8))
    assert path.read_bytes()[:2] == b"\x78\x01"
    assert list(ps.RecordReader(path, on_error="skip")) == [b"good"] * 3
