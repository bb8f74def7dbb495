"""Caches in memory and on disk: a complete pass is kept, a broken one is not, and states fit both."""

from __future__ import annotations

import os
import pickle
import threading
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st

from penstock.columns import Batch, Nullable, Ragged, collate
from penstock.dataset.block import Block
from penstock.dataset.order import RowKeys
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage
from penstock.dataset.transforms.batch import BatchStage
from penstock.dataset.transforms.cache import DiskCacheStage, MemoryCacheStage
from penstock.dataset.transforms.map import MapStage
from penstock.errors import ChecksumError, CorruptDataError, TruncatedError


@pytest.fixture(params=["memory", "disk"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return MemoryCacheStage() if request.param == "memory" else DiskCacheStage(str(tmp_path / "cache"), "name")


def fresh(stage: Stage) -> Stage:
    """The stage as another process has it."""
    return pickle.loads(pickle.dumps(stage))


def rows_behind(stage: Stage, source: Source, epoch: int = 0) -> list[Any]:
    return elements_of(stage, source, {"epoch": epoch})


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("sizes", [[], [3], [2, 4, 1]])
def test_later_passes_are_given_without_the_source(cache: Stage, sizes: list[int], as_list: bool):
    source = Source(sizes, as_list)
    assert rows_behind(cache, source) == source.rows()
    asked = len(source.open_flows)
    assert rows_behind(cache, source, 1) == source.rows(0)
    assert len(source.open_flows) == asked
    assert source.all_closed()


def test_keys_are_those_of_the_epoch_behind_the_cache(cache: Stage):
    source = Source([2])
    for epoch in (0, 3):
        (block,) = blocks_of(cache, source, {"epoch": epoch})
        assert block.keys.epochs.tolist() == [epoch, epoch]
        assert block.keys.rows.tolist() == [0, 1]


def test_a_pass_that_is_broken_off_is_no_cache(cache: Stage, tmp_path: Path):
    source = Source([1, 1, 1])
    with closing(blocks_of(cache, source)) as flow:
        next(flow)
    with pytest.raises(OSError, match="disk is gone"):
        elements_of(cache, Source([1, 1, 1], fails_after=2))
    assert list(tmp_path.glob("cache/*")) + list(tmp_path.glob("cache/.*")) == []
    assert rows_behind(cache, source) == source.rows()


def test_resumes_before_and_after_it_is_complete(cache: Stage):
    source = Source([2, 1, 3])
    check_resumes(cache, source)
    states = [
        (block.start, len(source.rows()) - done)
        for block, done in zip(blocks_of(cache, source), [0, 2, 3], strict=True)
    ]
    for stage in (cache, fresh(cache)):
        for cursor, left in states:
            assert elements_of(stage, source, cursor) == source.rows()[-left:]
        check_resumes(stage, source)


def test_a_state_of_a_later_epoch_needs_no_cache():
    source = Source([2, 1, 3])
    cache = MemoryCacheStage()
    elements_of(cache, source)
    *_, last = blocks_of(cache, source, {"epoch": 4})
    resumed = list(blocks_of(fresh(cache), source, last.start))
    assert [plain(block.elements) for block in resumed] == [source.rows()[3:]]
    assert resumed[0].keys.epochs.tolist() == [4, 4, 4]


def test_a_place_that_the_kept_blocks_do_not_have_is_read(cache: Stage):
    elements_of(cache, Source([6]))
    place = {"epoch": 0, "block": 1, "up": {"epoch": 0, "row": 3}}
    assert elements_of(cache, Source([3, 3]), place) == Source([6]).rows()[3:]


def test_what_the_consumer_changes_is_not_what_is_kept(cache: Stage):
    source = Source([3])
    for epoch in (0, 1):
        for block in blocks_of(cache, source, {"epoch": epoch}):
            block.elements["n"][:] = -1
    assert rows_behind(cache, source) == source.rows()


@pytest.mark.parametrize(
    ("element", "change"),
    [
        ({"x": np.zeros(2)}, lambda element: element["x"].__iadd__(1)),
        ({"x": [0, 0]}, lambda element: element["x"].append(1)),
        ((np.zeros(2), 0), lambda element: element[0].__iadd__(1)),
        ({"x": {"y": np.zeros(2)}}, lambda element: element["x"].pop("y")),
        (np.array([[1], None], object), lambda element: element[0].append(2)),
        (Ragged(np.zeros(2), [0, 2]), lambda element: element.values.__iadd__(1)),
        (bytearray(2), lambda element: element.append(1)),
    ],
)
def test_what_the_consumer_changes_of_any_element_is_not_what_is_kept(element: Any, change: Any):
    cache, kept = MemoryCacheStage(), deepcopy(plain(element))

    def upstream(cursor: object):
        yield Block(
            [deepcopy(element)], RowKeys(np.zeros(1, np.int64), np.zeros(1, np.int64)), {"epoch": 0}, {"end": 1}
        )

    for epoch in range(3):
        for block in blocks_of(cache, upstream, {"epoch": epoch}):
            assert plain(block.elements[0]) == kept
            change(block.elements[0])
            assert plain(block.elements[0]) != kept


def test_what_cannot_be_copied_is_kept_as_it_is():
    lock = threading.Lock()

    def upstream(cursor: object):
        yield Block([lock], RowKeys(np.zeros(1, np.int64), np.zeros(1, np.int64)), {"epoch": 0}, {"end": 1})

    cache = MemoryCacheStage()
    for epoch in range(2):
        assert [block.elements for block in blocks_of(cache, upstream, {"epoch": epoch})] == [[lock]]


def test_batches_are_kept_as_batches(cache: Stage):
    batched = BatchStage(2, pad=True)
    source = Source([3, 2])

    def upstream(cursor: object):
        return batched.open(source, cursor, Meter())

    first = [block.elements for block in blocks_of(cache, upstream)]
    second = [block.elements for block in blocks_of(cache, upstream)]
    assert repr(first) == repr(second)
    assert plain(first) == plain(second)
    assert second[0][0]["tokens"].shape == (2, 1)


# What lies on the disk.


def kept(path: Path, elements: Any) -> Any:
    """Elements as they come back."""
    count = elements.num_rows if isinstance(elements, Batch) else len(elements)
    block = Block(elements, RowKeys(np.arange(count), np.zeros(count, np.int64)), {"epoch": 0}, {"block": 1})

    def upstream(cursor: object):
        yield block

    stage = DiskCacheStage(str(path), "name")
    list(blocks_of(stage, upstream))
    (again,) = blocks_of(stage, upstream)
    return again.elements


def test_columns_of_all_kinds_come_back(tmp_path: Path):
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
    again = kept(tmp_path, batch)
    assert again.to_list() == batch.to_list()
    assert again["bfloat16"].dtype == ml_dtypes.bfloat16
    assert again["dense"].shape == (3, 2, 2)
    assert again["swapped"].dtype == np.int32


def test_rows_without_columns_come_back(tmp_path: Path):
    assert kept(tmp_path, Batch({}, num_rows=3)).num_rows == 3


def test_what_is_no_batch_is_refused(tmp_path: Path):
    numbers = MapStage(lambda element: 3)
    with pytest.raises(TypeError, match="not int: cache\\(\\) in memory keeps anything"):
        elements_of(DiskCacheStage(str(tmp_path), "name"), lambda cursor: numbers.open(Source([1]), cursor, Meter()))


def test_damage_is_an_error(tmp_path: Path):
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
def test_a_block_with_a_good_checksum_may_be_anything(data: st.DataObject):
    from penstock.dataset.disk_cache import UNREADABLE, decode, encode

    (block,) = Source([3])(None)
    good = np.concatenate(encode(block))
    position = data.draw(st.integers(0, len(good) - 1))
    bad = good.copy()
    bad[position] = data.draw(st.integers(0, 255))
    try:
        for element in plain(decode(bad[: data.draw(st.integers(0, len(bad)))], None, None).elements):
            assert element
    except UNREADABLE:
        pass


@pytest.mark.parametrize("index", [b"", b"[]", b"{}", b'{"format": "penstock.cache", "version": 9, "requires": []}'])
def test_an_index_that_is_none_is_an_error(tmp_path: Path, index: bytes):
    stage = DiskCacheStage(str(tmp_path), "name")
    elements_of(stage, Source([3]))
    (tmp_path / "name" / "index.json").write_bytes(index)
    with pytest.raises(CorruptDataError, match="no index of a cache"):
        elements_of(stage, Source([3]))


def test_two_passes_at_once_leave_one_cache(tmp_path: Path):
    stage = DiskCacheStage(str(tmp_path), "name")
    source = Source([1, 2])
    one, two = blocks_of(stage, source), blocks_of(stage, source)
    next(one), next(two)
    assert len(list(one)) == len(list(two)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


def test_what_a_killed_process_left_is_removed(tmp_path: Path):
    abandoned = tmp_path / ".name.abcd"
    abandoned.mkdir()
    (abandoned / "blocks").write_bytes(b"half of it")
    elements_of(DiskCacheStage(str(tmp_path), "name"), Source([1]))
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


@pytest.mark.skipif(os.name == "nt", reason="has no such locks: there nothing is removed")
def test_a_process_that_begins_beside_another_takes_nothing_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import fcntl

    stage, others, lock = DiskCacheStage(str(tmp_path), "name"), iter([Source([1])]), fcntl.flock

    def locked_late(file: Any, how: int) -> None:
        """Let another pass begin, and end, before the first lock is held."""
        for other in others:
            with closing(blocks_of(stage, other)) as flow:
                next(flow)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", locked_late)
    assert elements_of(stage, Source([1, 2])) == Source([3]).rows()
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


@relaxed
@given(sources())
def test_any_flow_is_kept(source: Source):
    cache = MemoryCacheStage()
    assert elements_of(cache, source) == elements_of(cache, source) == source.rows()
    check_resumes(cache, source)
