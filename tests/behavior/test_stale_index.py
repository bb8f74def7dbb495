"""An index is a hint: what lies at a place that it tells is checked before it is given out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import framing
import numpy as np
import pytest

import penstock as ps

ROWS, LENGTH = 2_000, 100
FRAME = LENGTH + 16
SCHEMA = ps.Schema({"x": bytes})

WAYS: dict[str, Callable[[ps.Dataset], object]] = {
    "one": lambda ds: ds.record(ROWS // 2),
    "some": lambda ds: ds.records([3, ROWS // 2]),
    "many": lambda ds: ds.records(np.random.default_rng(1).permutation(ROWS)),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.tfrecord"
    path.write_bytes(framing.frames([bytes([number % 251]) * LENGTH for number in range(ROWS)]))
    return path


def indexed(file: Path, *, verify: bool = True) -> ps.Dataset:
    """A dataset that knows where its records are, and has none of its files open."""
    ds = ps.Dataset(file, schema=SCHEMA, verify=verify)
    assert len(ds) == ROWS
    return ds


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("byte", [0, 7, 8, 11, 12, LENGTH + 11, LENGTH + 12, LENGTH + 15])
def test_every_part_of_a_frame_is_checked(file, byte, way):
    ds = indexed(file)
    data = bytearray(file.read_bytes())
    data[ROWS // 2 * FRAME + byte] ^= 1
    file.write_bytes(data)
    with pytest.raises(ps.CorruptDataError):
        WAYS[way](ds)


def test_a_record_that_is_shorter_than_the_index_says_is_not_given_out_with_what_follows(file):
    ds = indexed(file, verify=False)
    data, at = file.read_bytes(), ROWS // 2 * FRAME
    shorter = framing.frames([b"s" * 20, b"r" * (LENGTH - 36)])
    file.write_bytes(data[:at] + shorter + data[at + FRAME :])
    for read in (lambda: ds.record(ROWS // 2), lambda: ds.records([3, ROWS // 2])):
        with pytest.raises(ps.CorruptDataError, match=f"changed since it was indexed: .*record {ROWS // 2}"):
            read()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("verify", [False, True])
def test_a_file_that_became_shorter_is_told(file, way, opened, verify):
    ds = indexed(file, verify=verify)
    if opened:
        ds.record(0)
    with open(file, "r+b") as cut:
        cut.truncate(ROWS // 2 * FRAME + 50)
    with pytest.raises(ps.PenstockError):
        WAYS[way](ds)


@pytest.mark.parametrize("index", ["cache", "sidecar"])
@pytest.mark.parametrize("way", WAYS)
def test_records_that_moved_behind_the_back_of_the_index_are_told_and_found_by_the_next_dataset(file, way, index):
    assert ps.Dataset(file, schema=SCHEMA, index=index).record(0) == bytes(LENGTH)
    data, at = file.read_bytes(), (ROWS // 2 - 1) * FRAME
    moved = framing.frames([b"l" * (LENGTH + 1), b"s" * (LENGTH - 1)])
    file.write_bytes(data[:at] + moved + data[at + 2 * FRAME :])  # both ends, and the size, are what they were
    with pytest.raises(ps.CorruptDataError, match=r"changed since it was indexed.*open the dataset again") as caught:
        WAYS[way](ps.Dataset(file, schema=SCHEMA))
    assert caught.value.kind == "changed"
    assert ps.Dataset(file, schema=SCHEMA).record(ROWS // 2) == b"s" * (LENGTH - 1)
    WAYS[way](ps.Dataset(file, schema=SCHEMA))
