"""What each policy does with each kind of damage, and what it tells afterwards."""

from __future__ import annotations

import pytest

import framing
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


def test_skip_record_passes_over_damaged_payloads_only(damaged, kind):
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


def test_damage_is_that_of_the_last_pass(damaged):
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
