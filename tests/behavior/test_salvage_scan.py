"""What the native survey says can be saved of a damaged file, against a model that knows it."""

from __future__ import annotations

import random
from pathlib import Path

import framing
import pytest
from damage_model import KINDS, ModelFile, damage, payload
from fitted_damage import fitted_damage
from forged_damage import forged_damage

from penstock import _core

OUTER = [b"before", framing.frames([b"inner 1", b"inner 2"]), b"between", b"after"]


def survey(path: Path, data: bytes, **options) -> list[_core.Stretch]:
    path.write_bytes(data)
    stretches, *_ = _core.salvage_scan(path, 0, len(data), **options)
    end, before = 0, ""
    for stretch in stretches:
        overlaps = "doubtful" in (before, stretch.kind) and stretch.start < end
        before = stretch.kind
        assert stretch.start == end or overlaps, "stretches tile the file, but for those in doubt"
        end = max(end, stretch.stop)
    assert end == len(data)
    return stretches


def offsets(data: bytes, stretches: list[_core.Stretch], kind: str) -> list[int]:
    """Where the records of the stretches of a kind start, by their headers."""
    found = []
    for stretch in stretches:
        if stretch.kind != kind:
            continue
        at = stretch.start
        for _ in range(stretch.records):
            found.append(at)
            at += 16 + int.from_bytes(data[at : at + 8], "little")
        assert at == stretch.stop
    return found


def found(path: Path, model: ModelFile, **options) -> tuple[list[int], list[int], list[_core.Stretch]]:
    """Where the records are that are certain and those that are in doubt, and all stretches."""
    data = bytes(model.data)
    stretches = survey(path, data, **options)
    return offsets(data, stretches, "whole"), offsets(data, stretches, "doubtful"), stretches


def assert_reported_correctly(path: Path, model: ModelFile, seed: int, **options) -> None:
    """No record of the file is lost, and none that is not is certain."""
    certain, doubtful, _ = found(path, model, **options)
    whole = model.whole_records()
    assert [at for at in certain if at not in whole] == [], seed
    assert [at for at in whole if at not in certain and at not in doubtful] == [], seed


@pytest.mark.parametrize("kind", KINDS)
def test_one_damage_of_a_plain_file_costs_the_records_that_it_touches(tmp_path: Path, kind: str):
    for seed in range(200):
        rng = random.Random(f"{kind} {seed}")
        model = ModelFile([payload(rng, nested=False) for _ in range(12)])
        damage(model, kind, rng)
        certain, doubtful, stretches = found(tmp_path / "file", model)
        assert sorted(certain + doubtful) == sorted(model.whole_records()), seed
        # In doubt is alone what lies where a header claims a payload up to the end of the file, or beyond.
        claims = [s.start for s in stretches if s.fault.kind == "truncated-record"]
        assert all(claims and at > min(claims) for at in doubtful), seed


def test_flipped_bits_leave_no_doubt(tmp_path: Path):
    for seed in range(200):
        rng = random.Random(seed)
        model = ModelFile([payload(rng, nested=False) for _ in range(30)])
        for _ in range(3):
            damage(model, "flip", rng)
        certain, doubtful, _ = found(tmp_path / "file", model)
        assert (sorted(certain), doubtful) == (sorted(model.whole_records()), []), seed


def test_nothing_is_invented_where_payloads_hold_records(tmp_path: Path):
    for seed in range(600):
        rng = random.Random(seed)
        model = ModelFile([payload(rng, nested=rng.random() < 0.4) for _ in range(10)])
        for _ in range(rng.randint(1, 4)):
            damage(model, rng.choice(KINDS), rng)
        assert_reported_correctly(tmp_path / "file", model, seed)


def test_inner_records_at_the_offsets_of_others_are_saved_apart(tmp_path: Path):
    for seed in range(600):
        model = fitted_damage(seed)
        assert_reported_correctly(tmp_path / "file", model, seed)


def test_forged_headers_hide_no_record(tmp_path: Path):
    for seed in range(400):
        model = forged_damage(seed)
        assert_reported_correctly(tmp_path / "file", model, seed)


EIGHT = framing.header(8)
EIGHTS = framing.frame((8).to_bytes(8, "little"))


@pytest.mark.parametrize("flat", [False, True])
def test_a_header_that_says_8_takes_no_other_header_for_its_payload(tmp_path: Path, flat: bool):
    # The length in a header, and its checksum, are a payload of eight bytes and its checksum.
    model = ModelFile(OUTER)
    model.insert(84, EIGHT)
    certain, doubtful, stretches = found(tmp_path / "file", model, flat=flat)
    assert (certain, doubtful) == (sorted(model.whole_records()), [])
    assert [(s.start, s.stop) for s in stretches if s.kind == "lost"] == [(84, 96)]


def test_nor_does_one_whose_checksum_is_damaged(tmp_path: Path):
    model = ModelFile(OUTER)
    model.insert(84, EIGHT[:11] + b"?")
    certain, doubtful, stretches = found(tmp_path / "file", model)
    assert (certain, doubtful) == (sorted(model.whole_records()), [])
    assert [(s.start, s.stop) for s in stretches if s.kind == "lost"] == [(84, 96)]


def test_which_of_three_headers_that_say_8_is_no_record_nobody_can_know(tmp_path: Path):
    before, after = framing.frame(b"before"), framing.frame(b"after")
    data = before + EIGHT + EIGHT + EIGHT + after
    assert data == before + EIGHT + EIGHTS + after == before + EIGHTS + EIGHT + after
    stretches = survey(tmp_path / "file", data)
    assert offsets(data, stretches, "whole") == [0, len(before) + 36]
    assert offsets(data, stretches, "doubtful") == [len(before), len(before) + 12]


def test_records_that_hold_the_number_8_are_themselves_where_they_follow_each_other(tmp_path: Path):
    eights = [EIGHTS[12:20]] * 20
    model = ModelFile([*eights, b"other", b"damaged", b"other", *eights])
    model.zero(20 * 24 + 21 + 14, 4)
    assert found(tmp_path / "file", model)[:2] == (sorted(model.whole_records()), [])
    # Where damage hides at which end they start and stop, either half of the headers may be the records'.
    model.zero(10 * 24, 30)
    certain, doubtful, _ = found(tmp_path / "file", model)
    assert set(certain) <= set(model.whole_records()) <= {*certain, *doubtful}


def test_a_wrong_bit_in_eight_bytes_leaves_doubt_only_where_they_may_be_a_length(tmp_path: Path):
    for eight, is_certain in ((b"record 1", True), ((5).to_bytes(8, "little"), False)):
        model = ModelFile([b"first", eight, b"another", bytes(300)])
        model.flip(21 + 12 + 7, 1)
        model.cut(len(model.data) - 100, 100)  # or the end of the file would show whose they are
        certain, doubtful, _ = found(tmp_path / "file", model)
        after = 21 + 24
        assert (certain, doubtful) == (([0, after], []) if is_certain else ([0], [after]))


def test_a_forged_header_hides_no_record_whose_header_it_overlaps(tmp_path: Path):
    model = ModelFile([b"before", b"damaged", bytes(300), b"after"])
    start = 22 + 23
    claim = next(n for n in range(1 << 20) if framing.header(n)[-1] == model.data[start])
    model.cut(22, 12)  # so that the forged header stands where one is due
    model.overwrite(22, framing.header(claim)[:11])
    assert model.data[33] == framing.header(claim)[-1]
    certain, doubtful, _ = found(tmp_path / "file", model)
    assert sorted(certain + doubtful) == sorted(model.whole_records()) == [0, 33, 33 + 316]


def test_that_payloads_hold_no_records_settles_all_doubt(tmp_path: Path):
    for seed in range(300):
        rng = random.Random(seed)
        model = ModelFile([payload(rng, nested=False) for _ in range(12)])
        for _ in range(rng.randint(1, 4)):
            damage(model, rng.choice(KINDS), rng)
        certain, doubtful, _ = found(tmp_path / "file", model, flat=True)
        assert (sorted(certain), doubtful) == (sorted(model.whole_records()), []), seed


def test_a_record_that_lost_its_header_does_not_give_its_inner_records_away(tmp_path: Path):
    model = ModelFile(OUTER)
    model.zero(22, 12)
    certain, doubtful, stretches = found(tmp_path / "file", model)
    assert (certain, doubtful) == (sorted(model.whole_records()), [])
    # Its payload still matches its checksum, which shows where it ends.
    assert [(s.start, s.stop, s.fault.kind) for s in stretches if s.kind == "lost"] == [(22, 84, "length-crc")]


@pytest.mark.parametrize("rest", [b"", b"some bytes after the inner records"])
def test_where_the_payload_is_damaged_as_well_they_are_in_doubt(tmp_path: Path, rest: bytes):
    model = ModelFile([OUTER[0], b"prefix" + OUTER[1] + rest, *OUTER[2:]])
    model.zero(22, 16)
    certain, doubtful, _ = found(tmp_path / "file", model)
    assert certain == sorted(model.whole_records())
    assert doubtful == [22 + 12 + 6, 22 + 12 + 6 + 23]


def with_two_blocks_zeroed() -> ModelFile:
    rng = random.Random(1)
    model = ModelFile([rng.randbytes(200) for _ in range(60)])
    for block in (10, 40):
        model.zero(block * 216 + 100, 500)
    return model


def test_between_two_zeroed_blocks_all_is_in_doubt(tmp_path: Path):
    model = with_two_blocks_zeroed()
    certain, doubtful, _ = found(tmp_path / "file", model)
    assert sorted(certain + doubtful) == sorted(model.whole_records())
    assert len(doubtful) == 27


@pytest.mark.parametrize("torn", [False, True])
def test_flipped_bits_put_nothing_in_doubt_whatever_else_is_damaged(tmp_path: Path, torn: bool):
    rng = random.Random(2)
    model = ModelFile([rng.randbytes(200) for _ in range(60)])
    for record in range(3, 30, 3):
        model.flip(record * 216 + rng.randrange(12, 212), 1 << rng.randrange(8))  # a payload
        model.flip((record + 1) * 216 + rng.randrange(8, 12), 255)  # the checksum of a header
    if torn:
        model.cut(50 * 216 + 60, 10 * 216)
    else:
        model.zero(45 * 216 + 100, 500)
    certain, doubtful, _ = found(tmp_path / "file", model)
    assert (certain, doubtful) == (sorted(model.whole_records()), [])


def test_a_payload_of_which_more_is_damaged_may_lack_bytes(tmp_path: Path):
    # So what follows it is certain only if it leads on to the end of the file.
    rng = random.Random(3)
    model = ModelFile([rng.randbytes(200) for _ in range(20)])
    model.zero(5 * 216 + 50, 100)
    assert found(tmp_path / "file", model)[:2] == (sorted(model.whole_records()), [])
    model.cut(15 * 216 + 60, 5 * 216)
    assert found(tmp_path / "file", model)[:2] == ([i * 216 for i in range(5)], [i * 216 for i in range(6, 15)])


def test_what_stands_whole_in_a_payload_that_may_lack_bytes_is_in_doubt(tmp_path: Path):
    model = ModelFile([OUTER[0], b"prefix" + OUTER[1], *OUTER[2:]])
    model.zero(22 + 12, 4)
    certain, doubtful, stretches = found(tmp_path / "file", model)
    assert (certain, doubtful) == (sorted(model.whole_records()), [40, 63])
    assert [(s.start, s.stop) for s in stretches if s.kind == "lost"] == [(22, 40), (86, 90)]


def with_two_holes(payloads: list[bytes], between: tuple[int, int]) -> ModelFile:
    """A file that has lost the headers of two records, and some of their payloads."""
    model = ModelFile(payloads)
    for record in between:
        model.zero(len(framing.frames(payloads[:record])), 50)
    return model


def random_payloads(count: int) -> list[bytes]:
    return [random.Random(i).randbytes(90 + i % 20) for i in range(count)]


def test_by_length_records_between_two_holes_are_the_files_own(tmp_path: Path):
    model = with_two_holes(random_payloads(300), (100, 200))
    strict, judged = (found(tmp_path / "file", model, by_length=by_length) for by_length in (False, True))
    assert (len(strict[0]), len(strict[1])) == (199, 99)
    assert judged[:2] == (sorted(model.whole_records()), [])


@pytest.mark.parametrize(
    ("payloads", "holes"),
    [
        (random_payloads(90), (30, 60)),  # few records to compare with
        (random_payloads(300), (100, 110)),  # others are nearly as long as a payload around these
        ([*random_payloads(300), framing.frames(random_payloads(2))], (100, 200)),  # another one holds records
        ([*random_payloads(300), bytes(5000)], (100, 130)),  # another one is as long
    ],
    ids=["few", "short", "nested", "long"],
)
def test_by_length_they_are_in_doubt_where_others_make_it_possible(tmp_path: Path, payloads, holes):
    model = with_two_holes(payloads, holes)
    certain, doubtful, _ = found(tmp_path / "file", model, by_length=True)
    assert len(doubtful) == holes[1] - holes[0] - 1
    assert sorted(certain + doubtful) == sorted(model.whole_records())


def test_by_length_a_header_that_claims_them_keeps_them_in_doubt(tmp_path: Path):
    payloads = random_payloads(300)
    model = with_two_holes(payloads, (100, 200))
    at, stop = (len(framing.frames(payloads[:record])) for record in (100, 201))
    model.overwrite(at, framing.header(stop - at - 16))
    certain, doubtful, _ = found(tmp_path / "file", model, by_length=True)
    assert (len(certain), len(doubtful)) == (199, 99)


@pytest.mark.parametrize("harm", [fitted_damage, forged_damage])
def test_by_length_nothing_is_invented_and_nothing_lost(tmp_path: Path, harm):
    for seed in range(200):
        assert_reported_correctly(tmp_path / "file", harm(seed), seed, by_length=True)


def test_no_payload_is_longer_than_the_limit(tmp_path: Path):
    model = with_two_blocks_zeroed()
    certain, doubtful, _ = found(tmp_path / "file", model, max_record_bytes=27 * 216 - 1)
    assert (certain, doubtful) == (sorted(model.whole_records()), [])


@pytest.mark.parametrize("bit", range(96))
def test_a_header_with_one_wrong_bit_still_gives_the_end_of_its_record(tmp_path: Path, bit: int):
    # The record after it is damaged as well: without the length, all up to the last would be searched.
    model = ModelFile(OUTER)
    model.flip(22 + bit // 8, 1 << bit % 8)
    model.flip(84 + 5, 255)
    model.flip(84 + 20, 255)
    certain, doubtful, stretches = found(tmp_path / "file", model)
    assert (certain, doubtful) == (sorted(model.whole_records()), [])
    assert [(s.start, s.stop) for s in stretches if s.kind == "lost"] == [(22, 84), (84, 107)]


def test_a_payload_ends_where_its_checksum_says_also_before_a_damaged_record(tmp_path: Path):
    model = ModelFile([*OUTER, b"last"])
    model.zero(22, 12)
    model.flip(84 + 12, 1)  # in the payload of the next
    certain, doubtful, stretches = found(tmp_path / "file", model)
    assert (certain, doubtful) == (sorted(model.whole_records()), [])
    assert [(s.start, s.stop) for s in stretches if s.kind == "lost"] == [(22, 84), (84, 107)]


def test_many_false_headers_cost_linear_work(tmp_path: Path):
    path = tmp_path / "file"

    def work(size: int) -> float:
        # Each header checks itself and claims all that is left: reading what each claims would be quadratic.
        headers = b"".join(framing.header(size - 12 * i - 16) for i in range(1, size // 12))
        path.write_bytes(b"\1" * 12 + headers)
        stretches, _, work = _core.salvage_scan(path, 0, path.stat().st_size)
        assert all(stretch.kind == "lost" for stretch in stretches)
        return work / size

    small, large = work(1 << 17), work(1 << 19)
    assert large < 1.2 * small


def test_many_claims_that_are_crossed_cost_linear_work(tmp_path: Path):
    path = tmp_path / "file"

    def work(size: int) -> float:
        # Each header claims a payload up to one place, which a frame at the end reaches over; small frames are between.
        small = framing.frame(b"")
        over = framing.frame(framing.header(0) + bytes(100))
        count = size // (12 + len(small))
        stop = count * (12 + len(small)) + 12
        claims = (framing.header(stop - i * (12 + len(small)) - 16) + small for i in range(count))
        path.write_bytes(b"".join(claims) + over)
        *_, work = _core.salvage_scan(path, 0, path.stat().st_size)
        return work / size

    small, large = work(1 << 16), work(1 << 18)
    assert large < 1.2 * small


def test_many_payloads_of_eight_bytes_cost_linear_work(tmp_path: Path):
    path = tmp_path / "file"

    def work(size: int) -> float:
        # Each is a header, too, and claims all that is left.
        count = size // 24
        path.write_bytes(framing.frames((24 * (count - i) - 28).to_bytes(8, "little") for i in range(count - 1)))
        stretches, _, work = _core.salvage_scan(path, 0, path.stat().st_size)
        assert [(stretch.kind, stretch.records) for stretch in stretches] == [("whole", count - 1)]
        return work / size

    small, large = work(1 << 17), work(1 << 19)
    assert large < 1.2 * small


def test_checksums_of_long_ranges_are_right_when_they_are_put_together(tmp_path: Path):
    # False headers use up what may be read directly; the last frame is checked by the strides that are kept then.
    rng = random.Random(3)
    large = framing.frame(rng.randbytes(70_001))
    false = b"".join(framing.header(60_000) for _ in range(40))
    data = b"\1" * 12 + false + large
    stretches = survey(tmp_path / "file", data)
    assert offsets(data, stretches, "whole") == [12 + len(false)]
