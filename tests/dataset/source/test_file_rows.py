"""An index is a hint: every record that is read at one of its offsets is checked."""

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

READS: dict[str, Callable[[ps.Dataset], object]] = {
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
    """Return a dataset with a loaded index and no open file."""
    ds = ps.Dataset(file, schema=SCHEMA, verify=verify)
    assert len(ds) == ROWS
    return ds


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("byte", [0, 7, 8, 11, 12, LENGTH + 11, LENGTH + 12, LENGTH + 15])
def test_every_part_of_a_frame_is_checked(file, byte, read):
    ds = indexed(file)
    data = bytearray(file.read_bytes())
    data[ROWS // 2 * FRAME + byte] ^= 1
    file.write_bytes(data)
    with pytest.raises(ps.CorruptDataError):
        READS[read](ds)


def test_a_record_that_is_shorter_than_in_the_index_raises(file):
    ds = indexed(file, verify=False)
    data, at = file.read_bytes(), ROWS // 2 * FRAME
    shorter = framing.frames([b"s" * 20, b"r" * (LENGTH - 36)])
    file.write_bytes(data[:at] + shorter + data[at + FRAME :])
    for read in (READS["one"], READS["some"]):
        with pytest.raises(ps.CorruptDataError, match=f"changed since it was indexed: .*record {ROWS // 2}"):
            read(ds)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("verify", [False, True])
def test_a_file_that_was_truncated_after_indexing_raises(file, read, opened, verify):
    ds = indexed(file, verify=verify)
    if opened:
        ds.record(0)
    with open(file, "r+b") as cut:
        cut.truncate(ROWS // 2 * FRAME + 50)
    with pytest.raises(ps.PenstockError):
        READS[read](ds)


@pytest.mark.parametrize("index", ["cache", "sidecar"])
@pytest.mark.parametrize("read", READS)
def test_moved_records_raise_and_the_next_dataset_rebuilds_the_index(file, read, index):
    assert ps.Dataset(file, schema=SCHEMA, index=index).record(0) == bytes(LENGTH)
    data, at = file.read_bytes(), (ROWS // 2 - 1) * FRAME
    moved = framing.frames([b"l" * (LENGTH + 1), b"s" * (LENGTH - 1)])
    file.write_bytes(data[:at] + moved + data[at + 2 * FRAME :])  # the size and both ends are unchanged
    with pytest.raises(ps.CorruptDataError, match=r"changed since it was indexed.*open the dataset again") as caught:
        READS[read](ps.Dataset(file, schema=SCHEMA))
    assert caught.value.kind == "changed"
    assert ps.Dataset(file, schema=SCHEMA).record(ROWS // 2) == b"s" * (LENGTH - 1)
    READS[read](ps.Dataset(file, schema=SCHEMA))
