"""Rows of many jobs, read together."""

from __future__ import annotations

from pathlib import Path

import framing
import numpy as np
import pytest
from fetched import SCHEMA, Shards, open_at, orders, record

from penstock import Decoder


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    return Shards(tmp_path_factory.mktemp("shards"), [1000, 1, 2000])


@pytest.mark.parametrize("name", orders())
def test_jobs_that_were_foreseen_are_the_same(shards: Shards, name: str):
    fetcher, decoder, rows = shards.open(threads=3), Decoder(SCHEMA), orders()[name]
    jobs = [rows[:700], rows[700:1400], rows[1400:]]
    for some in (jobs[:2], [], jobs[2:]):
        fetcher.coalesce(some)
    fetcher.submit(jobs[0], decoder._native)
    for job, following in zip(jobs, (*jobs[1:], jobs[0]), strict=True):
        fetcher.submit(following, decoder._native)  # in the end one that was not foreseen
        decoded, faults = fetcher.next()
        assert faults == []
        assert decoded is not None
        expected = decoder.decode([shards.records[row] for row in job])
        assert decoder._batch(decoded, lambda row: (None, row)).to_list() == expected.to_list()
    fetcher.close()


def test_what_is_wrong_with_rows_that_were_foreseen_is_said_of_their_job(tmp_path: Path):
    shards = Shards(tmp_path, [300, 300])
    damaged = framing.flip(shards.paths[0].read_bytes(), int(shards.offsets[40]) + 12)
    shards.paths[0].write_bytes(framing.flip(damaged, int(shards.offsets[50])))
    shards.paths[1].write_bytes(shards.paths[1].read_bytes()[: int(shards.offsets[590]) + 5])
    fetcher, decoder = shards.open(threads=2), Decoder(SCHEMA)
    shuffled = np.random.default_rng(3).permutation(280)
    jobs = [shuffled + 300, shuffled[shuffled >= 60], np.array([50, 1, 40]), np.array([599, 580, 590])]
    fetcher.coalesce(jobs)
    for rows in jobs:
        fetcher.submit(rows, decoder._native)
    found = [fetcher.next() for _ in jobs]
    assert [decoded is not None for decoded, _ in found] == [True, True, False, False]
    assert [[(fault.row, fault.kind) for fault in faults] for _, faults in found] == [
        [],
        [],
        [(0, "length-crc"), (2, "data-crc")],
        [(0, "truncated-record"), (2, "truncated-record")],
    ]


def test_a_file_that_is_gone_spoils_its_own_rows_alone(tmp_path: Path):
    shards = Shards(tmp_path, [30, 30])
    shards.paths[1].unlink()
    fetcher, decoder = shards.open(threads=1), Decoder(SCHEMA)
    jobs = [np.arange(30), np.array([3, 40])]
    fetcher.coalesce(jobs)
    for rows in jobs:
        fetcher.submit(rows, decoder._native)
    assert fetcher.next()[0] is not None
    decoded, faults = fetcher.next()
    assert decoded is None
    assert [(fault.row, fault.kind) for fault in faults] == [(1, "unread")]


def test_an_index_that_promises_too_much_takes_no_memory(tmp_path: Path):
    path = tmp_path / "small.tfrecord"
    path.write_bytes(framing.frames([record(1)]))
    fetcher = open_at(path, [(0, len(record(1))), (0, 1 << 40)])
    jobs = [np.array([0]), np.array([0, 1]), np.array([0])]
    decoder = Decoder(SCHEMA)
    fetcher.coalesce(jobs)
    for rows in jobs:
        fetcher.submit(rows, decoder._native)
    found = [fetcher.next() for _ in jobs]
    assert [[fault.kind for fault in faults] for _, faults in found] == [[], ["unread"], []]
