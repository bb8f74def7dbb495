"""Blocks on disk: they are read as they were written, and damage is detected."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from flows import Source, blocks_of, elements_of, plain, relaxed
from hypothesis import given
from hypothesis import strategies as st

from penstock.columns import Batch, Nullable, Ragged, collate
from penstock.dataset.block import Block
from penstock.dataset.order import RowKeys
from penstock.dataset.progress import Meter
from penstock.dataset.transforms.cache import DiskCacheStage
from penstock.dataset.transforms.map import MapStage
from penstock.errors import ChecksumError, CorruptDataError, TruncatedError


def stored(path: Path, elements: Any) -> Any:
    """Return elements as they are read from the cache."""
    count = elements.num_rows if isinstance(elements, Batch) else len(elements)
    block = Block(elements, RowKeys(np.arange(count), np.zeros(count, np.int64)), {"epoch": 0}, {"block": 1})

    def upstream(cursor: object):
        yield block

    stage = DiskCacheStage(str(path), "name")
    list(blocks_of(stage, upstream))
    (again,) = blocks_of(stage, upstream)
    return again.elements


def test_columns_of_all_kinds_round_trip(tmp_path: Path):
    batch = Batch(
        {
            "dense": np.arange(12, dtype=np.float16).reshape(3, 2, 2),
            "bfloat16": np.ones(3, ml_dtypes.bfloat16),
            "bool": np.array([True, False, True]),
            "swapped": np.arange(3, dtype=">i4"),
            "strided": np.arange(6, dtype=np.uint8)[::2],
            "empty": np.zeros((3, 0), np.int8),
            "ragged": Ragged(Ragged([1, 2, 3], [0, 1, 3, 3]), [0, 1, 1, 3]),
            "text": collate(["short", "a string that is longer than a view", "ü"]),
            "bytes": collate([[b"\xff", b""], [b"a", b"b"], [b"c" * 40, b"d"]]),
            "maybe": Nullable(collate(["a", "b", "c"]), [True, False, True]),
        }
    )
    again = stored(tmp_path, batch)
    assert again.to_list() == batch.to_list()
    assert again["bfloat16"].dtype == ml_dtypes.bfloat16
    assert again["dense"].shape == (3, 2, 2)
    assert again["swapped"].dtype == np.int32


def test_rows_without_columns_round_trip(tmp_path: Path):
    assert stored(tmp_path, Batch({}, num_rows=3)).num_rows == 3


def test_elements_without_columns_raise(tmp_path: Path):
    numbers = MapStage(lambda element: 3)
    with pytest.raises(TypeError, match="not int: use cache\\(\\) without a path"):
        elements_of(DiskCacheStage(str(tmp_path), "name"), lambda cursor: numbers.open(Source([1]), cursor, Meter()))


def test_damage_raises(tmp_path: Path):
    stage = DiskCacheStage(str(tmp_path), "name")
    source = Source([3, 3])
    elements_of(stage, source)
    blocks = tmp_path / "name" / "blocks"
    good = blocks.read_bytes()
    for position in range(0, len(good), 97):
        blocks.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
        with pytest.raises(ChecksumError, match="remove"):
            elements_of(stage, source)
    blocks.write_bytes(good[:-1])
    with pytest.raises(TruncatedError):
        elements_of(stage, source)


@relaxed
@given(st.data())
def test_a_malformed_block_with_a_valid_checksum_raises(data: st.DataObject):
    from penstock.dataset.disk_cache import DECODE_ERRORS, decode, encode

    (block,) = Source([3])(None)
    good = np.concatenate(encode(block))
    position = data.draw(st.integers(0, len(good) - 1))
    bad = good.copy()
    bad[position] = data.draw(st.integers(0, 255))
    try:
        for element in plain(decode(bad[: data.draw(st.integers(0, len(bad)))], None, None).elements):
            assert element
    except DECODE_ERRORS:
        pass


@pytest.mark.parametrize("index", [b"", b"[]", b"{}", b'{"format": "penstock.cache", "version": 9, "requires": []}'])
def test_an_invalid_index_raises(tmp_path: Path, index: bytes):
    stage = DiskCacheStage(str(tmp_path), "name")
    elements_of(stage, Source([3]))
    (tmp_path / "name" / "index.json").write_bytes(index)
    with pytest.raises(CorruptDataError, match="not the index of a cache"):
        elements_of(stage, Source([3]))


def test_two_concurrent_iterations_write_one_cache(tmp_path: Path):
    stage = DiskCacheStage(str(tmp_path), "name")
    source = Source([1, 2])
    one, two = blocks_of(stage, source), blocks_of(stage, source)
    next(one), next(two)
    assert len(list(one)) == len(list(two)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


def test_the_folder_of_a_killed_process_is_removed(tmp_path: Path):
    abandoned = tmp_path / ".name.abcd"
    abandoned.mkdir()
    (abandoned / "blocks").write_bytes(b"half of it")
    elements_of(DiskCacheStage(str(tmp_path), "name"), Source([1]))
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


@pytest.mark.skipif(os.name == "nt", reason="has no such locks: there nothing is removed")
def test_a_second_writer_does_not_remove_the_folder_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import fcntl

    stage, others, lock = DiskCacheStage(str(tmp_path), "name"), iter([Source([1])]), fcntl.flock

    def locked_late(file: Any, how: int) -> None:
        """Let another epoch begin, and end, before the first lock is held."""
        for other in others:
            with closing(blocks_of(stage, other)) as flow:
                next(flow)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", locked_late)
    assert elements_of(stage, Source([1, 2])) == Source([3]).rows()
    assert [path.name for path in tmp_path.iterdir()] == ["name"]
