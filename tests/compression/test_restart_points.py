"""Restart points: any gzip or zlib file is read from its middle, with the same result as from its start."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import framing
import numpy as np
import pytest
from isal import igzip

import penstock as ps
from penstock.dataset.source.file_rows import MemberCache, open_rows
from penstock.index import ShardIndex, open_index
from penstock.index.file_format import from_bytes, to_bytes
from penstock.records.read_options import ReadOptions

DRAW = random.Random(7)
WORDS = [DRAW.randbytes(DRAW.randrange(2, 12)).hex().encode() for _ in range(3000)]
RECORDS = [b" ".join(DRAW.choices(WORDS, k=DRAW.randrange(1, 90))) for _ in range(4500)]
RECORDS[2000:2000] = [DRAW.randbytes(2_600_000), b"", WORDS[0] * 90_000]
PLAIN = framing.frames(RECORDS)


def with_zlib(level: int, strategy: int, wbits: int) -> bytes:
    deflater = zlib.compressobj(level, zlib.DEFLATED, wbits, 8, strategy)
    return deflater.compress(PLAIN) + deflater.flush()


def in_members(size: int) -> bytes:
    return b"".join(gzip.compress(PLAIN[start : start + size], 6) for start in range(0, len(PLAIN), size))


FILES: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(PLAIN, 6),
    "gzip, best": lambda: gzip.compress(PLAIN, 9),
    "gzip, fast": lambda: gzip.compress(PLAIN, 1),
    "gzip, stored": lambda: gzip.compress(PLAIN, 0),
    "igzip": lambda: igzip.compress(PLAIN, 1),
    "no matches": lambda: with_zlib(6, zlib.Z_HUFFMAN_ONLY, 31),
    "fixed codes": lambda: with_zlib(6, zlib.Z_FIXED, 31),
    "zlib": lambda: with_zlib(6, zlib.Z_DEFAULT_STRATEGY, 15),
    "many members": lambda: in_members(70_000),
    "some members": lambda: in_members(1_500_000),
}


def write(folder: Path, data: bytes) -> Path:
    path = folder / "a.tfrecord.gz"
    path.write_bytes(data)
    return path


def records_at(path: Path, index: ShardIndex, rows: list[int]) -> list[bytes]:
    opened = open_rows(str(path), index, ReadOptions(), 0, MemberCache(), None)
    return [bytes(record) for chunk in opened.request(np.array(rows))().complete() for record in chunk]


@pytest.mark.parametrize("name", FILES)
def test_records_are_the_same_from_any_restart_point(name: str, tmp_path: Path):
    path = write(tmp_path, FILES[name]())
    index = open_index(path, where="none")
    assert index.restarts is not None
    assert len(index.restarts) >= 3
    stored = to_bytes(index)
    assert len(stored) < path.stat().st_size // 16 + 64_000
    again = from_bytes(stored, index.identity)
    assert records_at(path, again, list(range(len(RECORDS)))) == RECORDS
    firsts = again.restarts.first_record[:-1].astype(int).tolist()
    for row in {*firsts, *(row - 1 for row in firsts[1:]), 1999, 2000, 2001, 2002, 2003, len(RECORDS) - 1}:
        assert records_at(path, again, [row]) == [RECORDS[row]]


def test_a_window_holds_only_what_is_referred_to(tmp_path: Path):
    pictures = framing.frames([random.Random(n).randbytes(60_000) for n in range(100)])
    index = open_index(write(tmp_path, gzip.compress(pictures)), where="none")
    assert len(index.restarts) > 3
    assert sum(map(len, index.restarts.windows)) < 2000


def test_a_stream_without_restart_points_is_read_from_its_start(tmp_path: Path):
    path = write(tmp_path, gzip.compress(PLAIN))
    index = open_index(path, where="none")
    index.restarts = None  # as where its blocks are too long
    assert not index.seekable
    assert records_at(path, index, [3, 4000]) == [RECORDS[3], RECORDS[4000]]


def test_wrong_restart_points_lead_to_the_right_records(tmp_path: Path):
    path = write(tmp_path, gzip.compress(PLAIN))
    index = open_index(path, where="none")
    found, rows = index.restarts, [5, 1000, 2001, 4000]
    zeros = tuple(bytes(len(window)) for window in found.windows)
    for wrong in [
        replace(found, bits=found.bits + np.uint64(1)),
        replace(found, bits=found.bits[::-1].copy()),
        replace(found, block_offset=found.block_offset - np.minimum(found.block_offset, 9).astype(np.uint64)),
        replace(found, windows=zeros),
        replace(found, windows=(b"",) * len(found)),
        replace(found, windows=found.windows[::-1]),
    ]:
        index.restarts = wrong
        assert records_at(path, index, rows) == [RECORDS[row] for row in rows]


def test_a_damaged_stream_raises_with_the_place_of_the_damage(tmp_path: Path):
    data = bytearray(gzip.compress(PLAIN))
    index = open_index(write(tmp_path, bytes(data)), where="none")
    place = int(index.restarts.bits[2]) // 8 + 5000
    data[place] ^= 4
    path = write(tmp_path, bytes(data))
    last = int(index.restarts.first_record[-2])
    assert records_at(path, index, [3, last + 1]) == [RECORDS[3], RECORDS[last + 1]]
    with pytest.raises(ps.CorruptDataError, match=str(path)):
        records_at(path, index, list(range(len(RECORDS))))


@pytest.mark.parametrize("threads", [1, 4])
def test_a_dataset_of_somebody_elses_gzip_is_like_one_of_plain_files(tmp_path: Path, threads: int):
    ps.write(tmp_path / "plain", {"id": np.arange(len(RECORDS)), "text": RECORDS}, shards=2)
    for number, file in enumerate(sorted(tmp_path.glob("plain-*.tfrecord"))):
        (tmp_path / f"other-{number:05d}-of-00002.tfrecord.gz").write_bytes(gzip.compress(file.read_bytes(), 3))
    plain = ps.Dataset(tmp_path / "plain", threads=threads)
    other = ps.Dataset(str(tmp_path / "other-*"), schema=plain.schema, threads=threads)
    rows = [4400, 2, 2001, 2000, 2]
    assert other[rows]["text"].to_list() == plain[rows]["text"].to_list()
    for change in [
        lambda ds: ds.shuffle(seed=3).batch(100),
        lambda ds: ds.shard(1, 3).batch(100),
        lambda ds: ds.select(range(4000, 10, -7)).batch(100),
        lambda ds: ds.batch(100),
    ]:
        expected, found = ([batch["text"].to_list() for batch in change(ds)] for ds in (plain, other))
        if change(plain)._pipeline.is_sharded:  # in runs of another size, because a part of the file is inflated whole
            assert sum(map(len, found)) == sum(map(len, expected))
        else:
            assert found == expected
