"""The native walk over a file's headers: however the file is cut into pieces, it finds what a plain walk finds."""

from __future__ import annotations

import struct
from pathlib import Path

import framing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import _core


def plain_walk(data: bytes) -> list[int]:
    lengths, offset = [], 0
    while offset < len(data):
        (length,) = struct.unpack_from("<Q", data, offset)
        lengths.append(length)
        offset += length + 16
    return lengths


def walked(path: Path, *, threads: int, piece: int, stride: int) -> tuple[list[int], _core.HeaderWalk]:
    walk = _core.HeaderWalk(path, threads=threads, piece_bytes=piece, keep_lengths=True)
    lengths: list[int] = []
    while walk.advance(stride):
        lengths += walk.take_lengths().tolist()
    lengths += walk.take_lengths().tolist()
    assert walk.records == len(lengths)
    return lengths, walk


LARGE = framing.frame(bytes(50_000))

# What a payload may hold to lead a search astray: whole frames, headers that claim what follows, or more than there is.
inner = st.one_of(
    st.binary(max_size=200),
    st.lists(st.binary(max_size=40), max_size=8).map(framing.frames),
    st.integers(0, 5000).map(framing.header),
    st.integers(0, 2**64 - 1).map(framing.header),
    st.integers(0, 400).map(lambda size: framing.frame(framing.header(size))),
)
payloads = st.lists(st.lists(inner, max_size=4).map(b"".join), min_size=1, max_size=30)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    payloads=payloads,
    large=st.integers(0, 2),
    threads=st.integers(1, 4),
    piece=st.sampled_from([1, 16, 17, 100, 1000, 100_000]),
    stride=st.sampled_from([1, 500, 30_000, 1 << 30]),
)
def test_any_pieces_give_what_a_plain_walk_gives(tmp_path, payloads, large, threads, piece, stride):
    data = framing.frames(payloads) + LARGE * large + framing.frames(payloads)
    path = tmp_path / "some.tfrecord"
    path.write_bytes(data)
    lengths, walk = walked(path, threads=threads, piece=piece, stride=stride)
    assert lengths == plain_walk(data)
    assert (walk.position, walk.fault.kind) == (len(data), "none")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("where", [0.0, 0.3, 0.9])
def test_a_fault_is_found_where_it_is_whatever_looks_like_a_frame_after_it(tmp_path, threads, where):
    payload = framing.frames([b"inner", b"frames"])
    frame = framing.frame(payload)
    count = 20_000
    bad = int(count * where)
    data = bytearray(frame * count)
    data[bad * len(frame)] ^= 1
    path = tmp_path / "bad.tfrecord"
    path.write_bytes(data)
    lengths, walk = walked(path, threads=threads, piece=4096, stride=1 << 30)
    assert lengths == [len(payload)] * bad
    assert (walk.fault.kind, walk.fault.record, walk.fault.offset) == ("length-crc", bad, bad * len(frame))


def test_a_file_that_is_cut_while_it_is_walked_is_an_error(tmp_path):
    path = tmp_path / "cut.tfrecord"
    path.write_bytes(framing.frame(bytes(100)) * 10_000)
    walk = _core.HeaderWalk(path, threads=2, piece_bytes=4096)
    assert walk.advance(1000)
    with open(path, "r+b") as file:
        file.truncate(500_000)
    with pytest.raises(OSError, match="became shorter"):
        while walk.advance(1 << 30):
            pass


def test_a_file_that_grows_while_it_is_walked_ends_where_it_ended(tmp_path):
    path = tmp_path / "grows.tfrecord"
    path.write_bytes(framing.frame(b"first") * 10)
    walk = _core.HeaderWalk(path)
    with open(path, "ab") as file:
        file.write(framing.frame(b"second"))
    while walk.advance(1 << 30):
        pass
    assert walk.records == 10
