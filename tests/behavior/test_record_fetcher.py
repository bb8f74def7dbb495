"""Records by their locations: whatever the order, what comes is what stands there, or what is wrong with it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import framing
import numpy as np
import pytest
from fetched import SCHEMA, Shards, open_at, orders, record
from processes import run_python
from schema_examples import example

from penstock import Decoder, _core


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    return Shards(tmp_path_factory.mktemp("shards"), [1000, 1, 2000])


@pytest.mark.parametrize("name", orders())
@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("starts_alone", [True, False])
def test_records_come_in_the_order_in_which_they_are_asked_for(
    shards: Shards, name: str, verify: bool, starts_alone: bool
):
    rows = orders()[name]
    decoder = Decoder(SCHEMA)
    locations = shards.locations(starts_alone=starts_alone)
    fetcher = _core.RecordFetcher(shards.paths, locations, threads=3, verify=verify)
    expected = [shards.records[row] for row in rows]
    assert fetcher.records(rows) == (expected, [])
    fetcher.submit(rows, decoder._native)
    assert fetcher.pending == 1
    for decoded, faults in (fetcher.next(), fetcher.fetch(rows, decoder._native)):
        assert (faults, fetcher.pending) == ([], 0)
        assert decoded is not None
        batch = decoder._batch(decoded, lambda row: (None, row))
        assert batch.to_list() == decoder.decode(expected).to_list()
    fetcher.close()


def test_records_of_one_length_need_no_list_of_locations(tmp_path: Path):
    records = [f"record {n}".encode() for n in range(10)]
    paths = [tmp_path / "0.tfrecord", tmp_path / "empty.tfrecord", tmp_path / "1.tfrecord"]
    for path, some in zip(paths, (records[:4], [], records[4:]), strict=True):
        path.write_bytes(framing.frames(some))
    fetcher = _core.RecordFetcher(paths, _core.RecordLocations(((4, 8), (0, 0), (6, 8))), threads=1)
    assert fetcher.records(np.arange(9, -1, -1)) == (records[::-1], [])
    assert [fetcher.record(row) for row in range(10)] == records


def test_jobs_come_out_in_order(shards: Shards):
    fetcher, decoder = shards.open(threads=4), Decoder(SCHEMA)
    starts = list(range(0, 3000, 30))
    for start in starts:
        fetcher.submit(np.arange(start, start + 30), decoder._native)
    for start in starts:
        decoded, _ = fetcher.next()
        assert decoded is not None
        assert decoded.column(0).tolist() == list(range(start, start + 30))
    with pytest.raises(RuntimeError, match="nothing was submitted"):
        fetcher.next()


def test_columns_go_into_the_memory_that_is_given(shards: Shards):
    decoder = Decoder(SCHEMA)
    fetcher = shards.open(threads=1)
    rows = np.random.default_rng(1).permutation(3001)[:100]
    memory = np.zeros(100, np.int64)
    fetcher.submit(rows, decoder._native, [memory, None, None])
    decoded, _ = fetcher.next()
    assert decoded is not None
    assert decoded.column(0) is memory
    assert memory.tolist() == rows.tolist()
    with pytest.raises(ValueError, match="does not fit"):
        fetcher.submit(rows, decoder._native, [memory[:99], None, None])


def test_a_row_alone_is_as_in_a_batch(shards: Shards):
    decoder = Decoder(SCHEMA)
    rows = decoder._row_decoder()
    fetcher = shards.open(threads=1)
    for row in (0, 49, 1000, 3000):
        decoded = fetcher.row(row, rows.native)
        assert decoded is not None
        found, expected = rows.build_row(decoded), decoder.decode([shards.records[row]]).row(0)
        assert list(found) == list(expected)
        assert [found["n"], found["text"], found["tags"].tolist()] == [row, expected["text"], expected["tags"].tolist()]
        assert {name: type(value) for name, value in found.items()} == {
            name: type(value) for name, value in expected.items()
        }


def test_few_files_are_open_at_a_time(tmp_path: Path):
    shards = Shards(tmp_path, [3] * 40)
    code = """
        import numpy as np
        from penstock import _core
        starts = np.load(sys.argv[1])
        locations = _core.RecordLocations(tuple((part, None) for part in starts))
        fetcher = _core.RecordFetcher(sys.argv[2:], locations, threads=1, max_open_files=4)
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14))
        records, faults = fetcher.records(np.random.default_rng(2).permutation(120))
        print(len(records), faults)
    """
    starts = shards.offsets.reshape(40, 3)
    ends = starts[:, 2:] + shards.lengths.reshape(40, 3)[:, 2:] + np.uint64(16)
    np.save(tmp_path / "starts.npy", np.concatenate([starts, ends], axis=1))
    assert run_python(code, tmp_path / "starts.npy", *shards.paths) == (0, b"120 []\n", "")


def test_a_record_that_does_not_decode_is_a_fault_of_the_batch(tmp_path: Path):
    path = tmp_path / "wrong.tfrecord"
    good, wrong = record(1), example(n="no number")
    path.write_bytes(framing.frames([good, wrong]))
    fetcher = open_at(path, [(0, len(good)), (len(good) + 16, len(wrong)), (0, len(good))])
    decoder = Decoder(SCHEMA)
    fetcher.submit(np.arange(3), decoder._native)
    decoded, faults = fetcher.next()
    assert faults == []
    assert decoded is not None
    assert decoded.fault is not None
    assert (decoded.fault.row, decoded.fault.kind) == (1, "wrong-kind")
    assert fetcher.row(1, decoder._row_decoder().native) is None
    assert fetcher.row(2, decoder._row_decoder().native) is not None


# What is wrong


def kind_at(path: Path, offset: int, length: int) -> str:
    """What is wrong with one record, by all ways to ask."""
    fetcher = open_at(path, [(offset, length)])
    kind = found_kind(fetcher)
    fetcher.close()
    return kind


def found_kind(fetcher: _core.RecordFetcher) -> str:
    decoder = Decoder(SCHEMA)
    fetcher.submit(np.arange(1), decoder._native)
    decoded, faults = fetcher.next()
    alone, row = fetcher.record(0), fetcher.row(0, decoder._row_decoder().native)
    if isinstance(alone, bytes):
        assert (faults, fetcher.records(np.arange(1))) == ([], ([alone], []))
        assert decoded is not None
        assert row is not None
        return "good"
    _, others = fetcher.records(np.arange(1))
    assert (decoded, row) == (None, None)
    assert [(fault.row, fault.kind) for fault in (*faults, *others)] == [(0, alone.kind)] * 2
    return alone.kind


def test_every_flipped_byte_is_found(tmp_path: Path):
    payload = record(3)
    data = framing.frames([record(2), payload])
    start = len(data) - len(payload) - 16
    for position in range(start, len(data)):
        path = tmp_path / f"{position}.tfrecord"
        path.write_bytes(framing.flip(data, position, 1))
        kind = "length-crc" if position < start + 12 else "data-crc"
        assert kind_at(path, start, len(payload)) == kind
        assert kind_at(path, 0, start - 16) == "good"
        path.unlink()


def test_an_index_that_is_wrong_or_stale_is_found(shards: Shards):
    path = shards.paths[0]
    size = path.stat().st_size
    offset, length = int(shards.offsets[5]), int(shards.lengths[5])
    assert kind_at(path, offset, length) == "good"
    assert kind_at(path, offset, length + 1) == "moved"
    assert kind_at(path, offset, 0) == "moved"
    assert kind_at(path, offset + 1, length) == "length-crc"
    largest = (1 << 64) - 1
    for far in (
        (size, 0),
        (size - 15, 0),
        (offset, size),
        (largest, largest),
        (0, largest),
        (largest, 0),
        (largest - 15, 15),
    ):
        assert kind_at(path, *far) == "truncated-record"
    for starts in ([5, 0], [size - 16, 1 << 63], [1 << 63, 1 << 62]):  # the length is what lies between
        locations = _core.RecordLocations(((np.array(starts, np.uint64), None),))
        fault = _core.RecordFetcher([path], locations, threads=1).record(0)
        assert not isinstance(fault, bytes)
        assert fault.kind == "truncated-record"


@pytest.mark.parametrize("threads", [1, 3])
def test_all_rows_that_are_wrong_are_named(shards: Shards, threads: int):
    starts, lengths = shards.offsets[shards.shards == 2], shards.lengths[shards.shards == 2]
    starts[[7, 1500]] += 1
    lengths[8] += 1
    locations = _core.RecordLocations(((starts, lengths),))
    fetcher = _core.RecordFetcher(shards.paths[2:], locations, threads=threads)
    rows, decoder = np.arange(2000)[::-1].copy(), Decoder(SCHEMA)
    fetcher.submit(rows, decoder._native)
    expected = [(499, "length-crc"), (1991, "moved"), (1992, "length-crc")]
    for nothing, faults in (fetcher.next(), fetcher.fetch(rows, decoder._native), fetcher.records(rows)):
        assert not nothing
        assert [(fault.row, fault.kind) for fault in faults] == expected


def test_a_file_that_was_cut_short_is_truncated(tmp_path: Path):
    shards = Shards(tmp_path, [10])
    location = int(shards.offsets[9]), int(shards.lengths[9])
    fetcher = open_at(shards.paths[0], [location])
    assert found_kind(fetcher) == "good"  # and so the file is open
    with shards.paths[0].open("r+b") as file:
        file.truncate(location[0] + 14)
    assert found_kind(fetcher) == "truncated-record"


def test_a_missing_file_is_named_and_costs_one_job(shards: Shards, tmp_path: Path):
    lengths = (shards.offsets[:2], None)
    paths = [tmp_path / "missing", shards.paths[0]]
    fetcher = _core.RecordFetcher(paths, _core.RecordLocations((lengths, lengths)), threads=2)
    decoder = Decoder(SCHEMA)
    fetcher.submit(np.array([0]), decoder._native)
    fetcher.submit(np.array([1]), decoder._native)
    with pytest.raises(FileNotFoundError, match="missing"):
        fetcher.next()
    decoded, _ = fetcher.next()
    assert decoded is not None
    assert decoded.column(0).tolist() == [0]
    for use in (fetcher.record, lambda row: fetcher.records(np.array([row] * 100))):
        with pytest.raises(FileNotFoundError, match="missing"):
            use(0)


def test_impossible_rows_and_locations_raise(shards: Shards):
    fetcher, decoder = shards.open(threads=1), Decoder(SCHEMA)
    for row in (-1, 3001):
        with pytest.raises(IndexError):
            fetcher.submit(np.array([row]), decoder._native)
        with pytest.raises(IndexError):
            fetcher.records(np.array([0, row]))
        with pytest.raises(IndexError):
            fetcher.record(row)
        with pytest.raises(IndexError):
            fetcher.row(row, decoder._row_decoder().native)
    starts = np.zeros(2, np.uint64)
    with pytest.raises(ValueError, match="of one size"):
        _core.RecordLocations(((starts, starts[:1]),))
    with pytest.raises(ValueError, match="end of the last"):
        _core.RecordLocations(((starts[:0], None),))
    with pytest.raises(ValueError, match="an entry for each file"):
        _core.RecordFetcher(shards.paths[:2], shards.locations(), threads=1)
    fetcher.close()
    with pytest.raises(ValueError, match="closed"):
        fetcher.next()


# Threads and processes


def test_closing_does_not_wait_for_a_consumer(shards: Shards):
    for _ in range(10):
        fetcher = shards.open(threads=4)
        for _ in range(20):
            fetcher.submit(np.arange(3001), Decoder(SCHEMA)._native)
        fetcher.next()
        fetcher.close()


def test_threads_may_ask_at_the_same_time(shards: Shards):
    fetcher, decoder = shards.open(threads=3), Decoder(SCHEMA)
    draws = [np.random.default_rng(n).integers(0, 3001, 300) for n in range(40)]

    def fetch(rows: Any) -> bool:
        decoded, _ = fetcher.fetch(rows, decoder._native)
        assert decoded is not None
        return bool(np.array_equal(decoded.column(0), rows)) and fetcher.records(rows)[0] == [
            shards.records[row] for row in rows
        ]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(fetch, draws))


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_a_child_starts_a_fetcher_of_its_own(shards: Shards):
    code = """
        import numpy as np
        from penstock import Decoder, Feature, Schema, _core
        decoder = Decoder(Schema({"n": Feature("int64")}))
        rows, locations = np.arange(1), _core.RecordLocations(((1, int(sys.argv[1])),))
        fetcher = _core.RecordFetcher(sys.argv[2:], locations, threads=2)
        fetcher.submit(rows, decoder._native)
        child = os.fork()
        if child == 0:
            refused = 0
            submit = lambda: fetcher.submit(rows, decoder._native)
            for use in (fetcher.next, submit, lambda: fetcher.record(0), lambda: fetcher.records(rows)):
                try:
                    use()
                except RuntimeError as error:
                    refused += "cannot cross a fork" in str(error)
            own = _core.RecordFetcher(sys.argv[2:], locations, threads=2)
            own.submit(rows, decoder._native)
            sys.exit(0 if refused == 4 and len(own.next()[0]) == 1 else 1)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), len(fetcher.next()[0]))
    """
    assert run_python(code, shards.lengths[0], shards.paths[0]) == (0, b"0 1\n", "")
