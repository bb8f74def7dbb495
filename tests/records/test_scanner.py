"""However input is cut into pieces and blocks, on however many threads, the same records and faults come out."""

from __future__ import annotations

import gzip
import itertools
import os
import zlib
from contextlib import contextmanager

import framing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import _core
from penstock.codec.decoder import Decoder
from penstock.codec.encoder import Encoder
from penstock.records.read_options import ReadOptions
from penstock.records.scanner import RecordScanner
from penstock.schema import Feature, Schema
from penstock.storage import locate

relaxed = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

# A block may start inside a payload that holds frames.
nested = st.lists(st.binary(max_size=30), min_size=1, max_size=20).map(framing.frames)
payloads = st.lists(st.binary(max_size=40) | st.integers(0, 700).map(lambda size: b"\xa5" * size) | nested, max_size=12)
cuts = st.lists(st.integers(0, 3000), max_size=20)


def described(events):
    """Records and faults in comparable form, with the places that they claim."""
    found = []
    for event in events:
        if isinstance(event, _core.Fault):
            found.append((event.kind, event.offset, event.record, event.need, event.have))
        else:
            for index, record in enumerate(event):
                assert event[index] == record
                found.append((record, event.frame_offset(index), event.first_record + index))
    return found


def from_pieces(data, positions, **options):
    stream = _core.StreamRecords(**options)
    edges = [0, *sorted(min(position, len(data)) for position in positions), len(data)]
    events = [event for a, b in itertools.pairwise(edges) for event in stream.feed(data[a:b])]
    return described([*events, *stream.finish()])


def from_file(path, **options):
    records = _core.FileRecords(path, **options)
    found = described(iter(records.next, None))
    records.close()
    return found


@contextmanager
def one_cpu():
    """Where there is one CPU, who asks for a block reads it."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("threads cannot be bound to a CPU here")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def expected(records):
    offsets = [len(framing.frames(records[:index])) for index in range(len(records))]
    return [(record, offset, number) for number, (record, offset) in enumerate(zip(records, offsets, strict=True))]


@relaxed
@given(records=payloads, positions=cuts)
def test_pieces_of_any_size_give_the_records(records, positions):
    assert from_pieces(framing.frames(records), positions) == expected(records)


@settings(relaxed, max_examples=20)
@given(records=payloads)
def test_byte_by_byte_gives_the_records(records):
    data = framing.frames(records)
    assert from_pieces(data, range(len(data))) == expected(records)


@relaxed
@given(records=payloads, block=st.integers(64, 900), threads=st.integers(1, 5))
def test_blocks_of_any_size_on_any_number_of_threads_give_the_records(tmp_path, records, block, threads):
    path = tmp_path / "some.tfrecord"
    path.write_bytes(framing.frames(records))
    assert from_file(path, block_bytes=block, threads=threads) == expected(records)


@relaxed
@given(records=payloads, block=st.integers(64, 900), threads=st.integers(1, 2), cut=st.integers(0, 30))
def test_one_cpu_gives_what_many_give(tmp_path, records, block, threads, cut):
    path = tmp_path / "some.tfrecord"
    data = framing.frames(records)
    path.write_bytes(data[: max(0, len(data) - cut)])
    on_threads = from_file(path, block_bytes=block, threads=3)
    with one_cpu():
        assert from_file(path, block_bytes=block, threads=threads) == on_threads


@relaxed
@given(
    records=payloads.filter(len),
    where=st.integers(0, 5000),
    mask=st.integers(1, 255),
    cut=st.integers(0, 30),
    positions=cuts,
    block=st.integers(64, 300),
)
def test_damage_gives_the_same_records_and_faults_whichever_way(tmp_path, records, where, mask, cut, positions, block):
    whole = framing.frames(records)
    data = framing.flip(whole, where % len(whole), mask)[: len(whole) - cut]
    path = tmp_path / "damaged.tfrecord"
    path.write_bytes(data)
    reference = from_pieces(data, [], input_end=len(data))
    assert reference != expected(records)
    assert from_pieces(data, positions, input_end=len(data)) == reference
    assert from_file(path, block_bytes=block, threads=1) == reference
    assert from_file(path, block_bytes=block, threads=3) == reference
    # Where the end is not known before it comes, only what a header checksum leaves unsaid can differ.
    blind = from_pieces(data, positions)
    assert [event[:3] for event in blind] == [event[:3] for event in reference]


def test_records_across_many_blocks(tmp_path):
    records = [b"small", bytes(range(256)) * 40, b"", b"x" * 5000, b"small again", b"y" * 64, b"z" * 20_000]
    path = tmp_path / "long.tfrecord"
    path.write_bytes(framing.frames(records))
    for block in [64, 65, 100, 1000]:
        for threads in [1, 2, 4]:
            assert from_file(path, block_bytes=block, threads=threads) == expected(records)


def test_reading_starts_at_the_given_offset(tmp_path):
    records = [b"first", b"second", b"third"]
    path = tmp_path / "some.tfrecord"
    path.write_bytes(framing.frames(records))
    start = len(framing.frame(b"first"))
    assert from_file(path, start_offset=start, start_record=1) == expected(records)[1:]
    data = path.read_bytes()[start:]
    assert from_pieces(data, [3, 9], start_offset=start, start_record=1) == expected(records)[1:]


def test_nothing_comes_after_a_bad_header():
    stream = _core.StreamRecords()
    good = framing.frame(b"good")
    (fault,) = stream.feed(framing.flip(good, 8) + good)
    assert fault.kind == "length-crc"
    assert stream.feed(good) == stream.finish() == []


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"block_bytes": 63}])
def test_a_reader_without_threads_or_room_raises(tmp_path, wrong):
    with pytest.raises(ValueError, match="must be"):
        _core.FileRecords(tmp_path / "any", **wrong)


def test_a_header_is_found_anywhere():
    noise = b"\x01noise without any header " * 3
    assert _core.find_header(noise + framing.frame(b"x") + noise) == len(noise)
    assert _core.find_header(noise) == len(noise)
    assert _core.find_header(framing.frame(b"") + framing.frame(b"x"), 1) == 16


@pytest.mark.parametrize("kind", ["", "gzip", "zlib"])
@pytest.mark.parametrize("sizes", [[], [0], [5] * 100_000, [3000] * 2000, [1, 5 << 20, 7, 2 << 20, 100_000]])
def test_the_checksum_of_a_file_comes_with_its_records(tmp_path, kind, sizes):
    """Whether its records are decoded or handed on, on one thread or several, and compressed or not."""
    compress = {"": bytes, "gzip": lambda data: gzip.compress(data, 1), "zlib": lambda data: zlib.compress(data, 1)}
    payloads = Encoder(Schema({"x": Feature("bytes")})).encode([{"x": bytes(size)} for size in sizes])
    stored = compress[kind](framing.frames(payloads))
    path = tmp_path / "data.tfrecord"
    path.write_bytes(stored)
    decoder = Decoder(Schema({}), strict=False)._native
    for threads in (1, 3):
        for checked in (True, False):
            scanner = RecordScanner(*locate(path), ReadOptions(threads=threads), checksum=True)
            kinds = {type(event) for event in (scanner.checked(decoder) if checked else scanner)}
            assert kinds <= {_core.ValidRecords if checked and not kind else _core.RecordChunk}
            assert scanner.crc32c == _core.crc32c(stored), (threads, checked)
