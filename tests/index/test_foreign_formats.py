"""Indexes of DALI, tfrecord and tfr-reader."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.index import open_index
from penstock.index.build import known_identity
from penstock.index.foreign_formats import read_foreign, to_text
from penstock.storage.local import LocalFiles

RECORDS = [b"x" * (i % 7) for i in range(100)]


def refuse(done: int, total: int) -> None:
    raise AssertionError("an index was built")


def entries() -> list[tuple[int, int]]:
    """As tfrecord2idx finds them: where each frame starts, and how long it is."""
    found, offset = [], 0
    for record in RECORDS:
        found.append((offset, len(record) + 16))
        offset += len(record) + 16
    return found


def text() -> bytes:
    return b"".join(b"%d %d\n" % entry for entry in entries())


def binary() -> bytes:
    packed = [struct.pack("<QQQ", start, start + size, size - 16) for start, size in entries()]
    return struct.pack("<Q", len(packed)) + b"".join(packed)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tfrecord.idx", text()),
        ("a.idx", text()),
        ("a.tfindex", text()),
        ("a.tfrecord.tfindex", text().rstrip()),
        ("a.tfrecord.idx", binary()),
    ],
)
def test_a_sidecar_index_is_used_first(write, tmp_path, name, content):
    path = write("a.tfrecord", RECORDS)
    (tmp_path / name).write_bytes(content)
    index = open_index(path, progress=refuse)
    offsets, lengths = index.locations(np.arange(100))
    assert offsets.tolist() == [start for start, _ in entries()]
    assert lengths.tolist() == [len(record) for record in RECORDS]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        text()[:-5],
        text().replace(b"17 ", b"18 ", 1),
        text() + b"2000 16\n",
        binary()[:-24],
        binary() + bytes(24),
        struct.pack("<Q", 2) + struct.pack("<6Q", 0, 2**64 - 8, 0, 2**64 - 8, 1897, 0),
        b"0\t0\n1\t100\n",  # MXNet's
        b"9" * 1000,
    ],
)
def test_one_that_does_not_fit_is_nothing_to_us(write, tmp_path, content):
    path = write("a.tfrecord", RECORDS)
    (tmp_path / "a.tfrecord.idx").write_bytes(content)
    assert open_index(path, where="none").records == 100


def test_one_that_adds_up_but_is_for_other_data_raises(write, tmp_path):
    path = write("a.tfrecord", [b"four"] * 50)
    wrong = b"".join(b"%d %d\n" % (start, 40) for start in range(0, 1000, 40))
    (tmp_path / "a.tfrecord.idx").write_bytes(wrong)
    with pytest.raises(ps.StaleIndexError, match="is not where it says"):
        shifted = b"0 21\n" + b"".join(b"%d %d\n" % (21 + 20 * i, 20) for i in range(48)) + b"981 19\n"
        (tmp_path / "shifted.idx").write_bytes(shifted)
        read_foreign(str(tmp_path / "shifted.idx"), str(path), known_identity(LocalFiles(), str(path)))
    assert open_index(path, where="none").records == 50


def test_what_is_written_is_what_their_tools_write(write):
    assert to_text(open_index(write("a.tfrecord", RECORDS))) == text()
    assert to_text(open_index(write("empty.tfrecord", []))) == b""
    with pytest.raises(ValueError, match="plain files"):
        to_text(open_index(write("a.tfrecord.gz", RECORDS)))


def test_a_large_number_of_entries_is_checked_against_the_size_of_the_data(write, tmp_path: Path):
    path = write("a.tfrecord", [b"one"])
    (tmp_path / "a.tfrecord.idx").write_bytes(text())
    assert open_index(path).records == 1
