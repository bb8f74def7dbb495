"""What reaches a local file, and when: bytes in order, whatever pieces they come in."""

from __future__ import annotations

import os
import random
import select
import sys

import pytest

from penstock import _core

BLOCK = 1 << 20


def pieces_of(*sizes):
    return [random.Random(number).randbytes(size) for number, size in enumerate(sizes)]


SHAPES = {
    "one byte short of a block": pieces_of(BLOCK - 1, 1, 1),
    "a block and a little, again and again": pieces_of(*[BLOCK + 12_345] * 5),
    "several blocks at once": pieces_of(3 * BLOCK + 1, 5, 2 * BLOCK),
    "many small ones": pieces_of(*range(1, 400)),
}


@pytest.mark.parametrize("start", [0, 1, 5000, BLOCK + 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_holds_all_pieces_in_order(shape, start, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(start))
    descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0))
    os.lseek(descriptor, start, os.SEEK_SET)
    writer = _core.FileWriter(descriptor)
    for piece in SHAPES[shape]:
        writer.write(piece)
    writer.close()
    os.close(descriptor)
    assert path.read_bytes() == bytes(start) + b"".join(SHAPES[shape])


@pytest.mark.parametrize("shape", SHAPES)
def test_drained_bytes_are_in_the_file(shape, tmp_path):
    path = tmp_path / "file"
    expected = b""
    with path.open("wb") as file:
        writer = _core.FileWriter(file.fileno())
        for piece in SHAPES[shape]:
            writer.write(piece)
            writer.drain()
            expected += piece
            assert path.stat().st_size == len(expected)
        writer.close()
    assert path.read_bytes() == expected


@pytest.mark.skipif(sys.platform == "win32", reason="blocks are not reported there")
def test_a_large_file_takes_no_more_of_the_disk_than_it_needs(tmp_path):
    path = tmp_path / "file"
    with path.open("wb") as file:
        writer = _core.FileWriter(file.fileno())
        for piece in pieces_of(*[BLOCK + 1] * 18):
            writer.write(piece)
        writer.drain()
        assert path.stat().st_size == 18 * (BLOCK + 1)
        writer.close()
    assert path.stat().st_size == 18 * (BLOCK + 1)
    assert path.stat().st_blocks * 512 < 19 * BLOCK


@pytest.mark.skipif(sys.platform == "win32", reason="select() is for sockets there")
def test_in_a_pipe_bytes_do_not_wait_for_more():
    reading, writing = os.pipe()
    writer = _core.FileWriter(writing)
    writer.write(b"some bytes")
    readable, _, _ = select.select([reading], [], [], 60)
    assert readable
    assert os.read(reading, 100) == b"some bytes"
    writer.close()
    os.close(writing)
    os.close(reading)
