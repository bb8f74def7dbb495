"""Records by their places: whatever the order, what comes is what stands there, or what is wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import framing
from penstock import Decoder, Feature, Schema, _core
from processes import run_python
from schema_examples import example

SCHEMA = Schema({"n": Feature("int64"), "text": Feature("str"), "tags": Feature("int64", (None,))})


def record(n: int) -> bytes:
    return example(n=n, text=f"a text that is too long for its view, number {n}", tags=list(range(n % 50)))


class Shards:
    """Files of records, and where each record stands."""

    def __init__(self, folder: Path, shares: list[int]) -> None:
        self.records = [record(n) for n in range(sum(shares))]
        self.paths: list[Path] = []
        places = []
        n = 0
        for shard, share in enumerate(shares):
            self.paths.append(folder / f"{shard}.tfrecord")
            self.paths[-1].write_bytes(framing.frames(self.records[n : n + share]))
            offset = 0
            for payload in self.records[n : n + share]:
                places.append((shard, offset, len(payload)))
                offset += len(payload) + 16
            n += share
        self.shards, self.offsets, self.lengths = (
            np.array(column, dtype) for column, dtype in zip(zip(*places, strict=True), "iQQ", strict=True)
        )

    def places(self, rows: Any) -> tuple[Any, Any, Any]:
        return self.shards[rows], self.offsets[rows], self.lengths[rows]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    return Shards(tmp_path_factory.mktemp("shards"), [1000, 1, 2000])


def orders() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "in order": np.arange(3001),
        "backwards": np.arange(3001)[::-1],
        "shuffled": rng.permutation(3001),
        "runs": np.concatenate([np.arange(start, start + 90) for start in rng.integers(0, 2900, 20)]),
        "one again and again": np.full(500, 1500),
        "one": np.array([3000]),
        "none": np.array([], int),
    }


@pytest.mark.parametrize("name", orders())
@pytest.mark.parametrize("verify", [True, False])
def test_records_come_in_the_order_in_which_they_are_asked_for(shards: Shards, name: str, verify: bool):
    rows = orders()[name]
    decoder = Decoder(SCHEMA)
    fetcher = _core.RecordFetcher(shards.paths, threads=3, verify=verify)
    fetcher.submit(*shards.places(rows))
    fetcher.submit(*shards.places(rows), decoder.native)
    assert fetcher.pending == 2
    chunks, decoded, faults = fetcher.next()
    expected = [shards.records[row] for row in rows]
    assert ([payload for chunk in chunks for payload in chunk], decoded, faults) == (expected, None, [])
    chunks, decoded, faults = fetcher.next()
    assert (chunks, faults, fetcher.pending) == ([], [], 0)
    assert decoded is not None
    batch = decoder.batch_of(decoded, lambda row: (None, row))
    assert batch.to_list() == decoder.decode(expected).to_list()
    fetcher.close()


def test_chunks_say_where_they_come_from(shards: Shards):
    fetcher = _core.RecordFetcher(shards.paths, threads=1)
    fetcher.submit(*shards.places(np.array([5, 6, 1000, 1500, 7])))
    chunks, _, _ = fetcher.next()
    assert [(Path(chunk.source), len(chunk)) for chunk in chunks] == [
        (shards.paths[0], 2),
        (shards.paths[1], 1),
        (shards.paths[2], 1),
        (shards.paths[0], 1),
    ]
    offsets = [chunk.frame_offset(i) for chunk in chunks for i in range(len(chunk))]
    assert offsets == shards.offsets[[5, 6, 1000, 1500, 7]].tolist()


def test_jobs_come_out_in_order(shards: Shards):
    fetcher = _core.RecordFetcher(shards.paths, threads=4)
    starts = list(range(0, 3000, 30))
    for start in starts:
        fetcher.submit(*shards.places(np.arange(start, start + 30)))
    for start in starts:
        chunks, _, _ = fetcher.next()
        assert [payload for chunk in chunks for payload in chunk] == shards.records[start : start + 30]
    with pytest.raises(RuntimeError, match="nothing was submitted"):
        fetcher.next()


def test_columns_go_into_the_memory_that_is_given(shards: Shards):
    decoder = Decoder(SCHEMA)
    fetcher = _core.RecordFetcher(shards.paths, threads=1)
    rows = np.random.default_rng(1).permutation(3001)[:100]
    memory = np.zeros(100, np.int64)
    fetcher.submit(*shards.places(rows), decoder.native, [memory, None, None])
    _, decoded, _ = fetcher.next()
    assert decoded is not None
    assert decoded[1][0] is memory
    assert memory.tolist() == rows.tolist()
    with pytest.raises(ValueError, match="does not fit"):
        fetcher.submit(*shards.places(rows), decoder.native, [memory[:99], None, None])


def test_few_files_are_open_at_a_time(tmp_path: Path):
    shards = Shards(tmp_path, [3] * 40)
    code = """
        import numpy as np
        from penstock import _core
        fetcher = _core.RecordFetcher(sys.argv[2:], threads=1, max_open_files=4)
        places = np.load(sys.argv[1])
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14))
        fetcher.submit(places["s"], places["o"], places["l"])
        chunks, _, faults = fetcher.next()
        print(sum(map(len, chunks)), faults)
    """
    order = np.random.default_rng(2).permutation(120)
    np.savez(tmp_path / "places.npz", **dict(zip("sol", shards.places(order), strict=True)))
    assert run_python(code, tmp_path / "places.npz", *shards.paths) == (0, b"120 []\n", "")


def test_a_record_that_does_not_decode_is_a_fault_of_the_batch(tmp_path: Path):
    path = tmp_path / "wrong.tfrecord"
    good, wrong = record(1), example(n="no number")
    path.write_bytes(framing.frames([good, wrong]))
    fetcher = _core.RecordFetcher([path], threads=1)
    places = (
        np.array([0, 0, 0], "i"),
        np.array([0, len(good) + 16, 0], "Q"),
        np.array([len(good), len(wrong), len(good)], "Q"),
    )
    fetcher.submit(*places, Decoder(SCHEMA).native)
    _, decoded, faults = fetcher.next()
    assert faults == []
    assert decoded is not None
    assert decoded[3] is not None
    assert (decoded[3].row, decoded[3].kind) == (1, "wrong-kind")


# What is wrong


def kind_at(fetcher: _core.RecordFetcher, offset: int, length: int) -> str:
    """What is wrong with one record, by both ways to ask."""
    fetcher.submit(np.zeros(1, np.int32), np.array([offset], np.uint64), np.array([length], np.uint64))
    chunks, decoded, faults = fetcher.next()
    alone = fetcher.read_one(0, offset, length)
    if isinstance(alone, bytes):
        assert faults == []
        assert [payload for chunk in chunks for payload in chunk] == [alone]
        return "good"
    assert (chunks, decoded, [(fault.row, fault.kind) for fault in faults]) == ([], None, [(0, alone.kind)])
    return alone.kind


def test_every_flipped_byte_is_found(tmp_path: Path):
    payload = record(3)
    data = framing.frames([record(2), payload])
    start = len(data) - len(payload) - 16
    for position in range(start, len(data)):
        path = tmp_path / f"{position}.tfrecord"
        path.write_bytes(framing.flip(data, position, 1))
        fetcher = _core.RecordFetcher([path], threads=1)
        kind = "length-crc" if position < start + 12 else "data-crc"
        assert kind_at(fetcher, start, len(payload)) == kind
        assert kind_at(fetcher, 0, start - 16) == "good"
        fetcher.close()
        path.unlink()


def test_an_index_that_is_wrong_or_stale_is_found(shards: Shards):
    fetcher = _core.RecordFetcher(shards.paths, threads=1)
    size = shards.paths[0].stat().st_size
    offset, length = int(shards.offsets[5]), int(shards.lengths[5])
    assert kind_at(fetcher, offset, length) == "good"
    assert kind_at(fetcher, offset, length + 1) == "moved"
    assert kind_at(fetcher, offset, 0) == "moved"
    assert kind_at(fetcher, offset + 1, length) == "length-crc"
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
        assert kind_at(fetcher, *far) == "truncated-record"


def test_all_rows_that_are_wrong_are_named(shards: Shards):
    fetcher = _core.RecordFetcher(shards.paths, threads=1)
    rows = np.random.default_rng(3).permutation(3001)
    chosen, offsets, lengths = shards.places(rows)
    offsets[[7, 2500]] += 1
    lengths[8] += 1
    for decoder in (None, Decoder(SCHEMA).native):
        fetcher.submit(chosen, offsets, lengths, decoder)
        chunks, decoded, faults = fetcher.next()
        assert (chunks, decoded) == ([], None)
        assert [(fault.row, fault.kind) for fault in faults] == [(7, "length-crc"), (8, "moved"), (2500, "length-crc")]


def test_a_file_that_was_cut_short_is_truncated(tmp_path: Path):
    shards = Shards(tmp_path, [10])
    fetcher = _core.RecordFetcher(shards.paths, threads=1)
    place = int(shards.offsets[9]), int(shards.lengths[9])
    assert kind_at(fetcher, *place) == "good"  # and so the file is open
    with shards.paths[0].open("r+b") as file:
        file.truncate(place[0] + 14)
    assert kind_at(fetcher, *place) == "truncated-record"


def test_a_missing_file_is_named_and_costs_one_job(shards: Shards, tmp_path: Path):
    fetcher = _core.RecordFetcher([tmp_path / "missing", *shards.paths], threads=2)
    one = np.zeros(1, np.int32), np.zeros(1, np.uint64), shards.lengths[:1]
    fetcher.submit(*one)
    fetcher.submit(one[0] + np.int32(1), *one[1:])
    with pytest.raises(FileNotFoundError, match="missing"):
        fetcher.next()
    chunks, _, _ = fetcher.next()
    assert list(chunks[0]) == shards.records[:1]
    with pytest.raises(FileNotFoundError, match="missing"):
        fetcher.read_one(0, 0, 5)


def test_what_no_place_can_be_is_refused(shards: Shards):
    fetcher = _core.RecordFetcher(shards.paths, threads=1)
    zero = np.zeros(1, np.uint64)
    for shard in (-1, 3):
        with pytest.raises(IndexError):
            fetcher.submit(np.array([shard], np.int32), zero, zero)
        with pytest.raises(IndexError):
            fetcher.read_one(shard, 0, 0)
    with pytest.raises(ValueError, match="of one size"):
        fetcher.submit(np.zeros(2, np.int32), zero, zero)
    fetcher.close()
    with pytest.raises(ValueError, match="closed"):
        fetcher.next()


# Threads and processes


def test_closing_does_not_wait_for_a_consumer(shards: Shards):
    for _ in range(10):
        fetcher = _core.RecordFetcher(shards.paths, threads=4)
        for _ in range(20):
            fetcher.submit(*shards.places(np.arange(3001)), Decoder(SCHEMA).native)
        fetcher.next()
        fetcher.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
def test_a_child_starts_a_fetcher_of_its_own(shards: Shards):
    code = """
        import numpy as np
        from penstock import _core
        def places():
            return np.zeros(1, np.int32), np.zeros(1, np.uint64), np.array([int(sys.argv[1])], np.uint64)
        fetcher = _core.RecordFetcher(sys.argv[2:], threads=2)
        fetcher.submit(*places())
        child = os.fork()
        if child == 0:
            refused = 0
            for use in (fetcher.next, lambda: fetcher.submit(*places()), lambda: fetcher.read_one(0, 0, 1)):
                try:
                    use()
                except RuntimeError as error:
                    refused += "cannot cross a fork" in str(error)
            own = _core.RecordFetcher(sys.argv[2:], threads=2)
            own.submit(*places())
            sys.exit(0 if refused == 3 and len(own.next()[0][0]) == 1 else 1)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), len(fetcher.next()[0][0]))
    """
    assert run_python(code, shards.lengths[0], *shards.paths) == (0, b"0 1\n", "")
