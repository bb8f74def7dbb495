"""The native decoder of deflate, compared with zlib: what it accepts and what it rejects, and every byte."""

from __future__ import annotations

import random
import struct
import zlib
from contextlib import closing

import pytest
from isal import isal_zlib

from penstock import _core

MOST = 1 << 20


def plain_data(rng):
    """Bytes of many kinds: noise, few letters, runs, repeats near and as far as a window reaches."""
    size = rng.randrange(rng.choice((2, 30, 300, 3000, 60000)))
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        return bytes(rng.choices(b"abcd", k=size))
    if kind == 2:
        return bytes(rng.choices(range(256), weights=[1 / (i + 1) ** 2 for i in range(256)], k=size))
    if kind == 3:
        return (rng.randbytes(rng.randrange(1, 40)) * size)[:size]
    if kind == 4:
        far = rng.randbytes(min(size, 33000))
        return far + rng.randbytes(rng.randrange(2000)) + far[: rng.randrange(300)] * 3
    return b"".join(bytes([rng.randrange(256)]) * rng.randrange(1, 600) for _ in range(size // 100))


def deflated(rng, data):
    """Raw deflate data of any level and strategy, by either compressor, flushed here and there."""
    if rng.random() < 0.2:
        compressor = isal_zlib.compressobj(rng.randrange(4), zlib.DEFLATED, -15)
    else:
        compressor = zlib.compressobj(
            rng.randrange(10), zlib.DEFLATED, -rng.randrange(9, 16), rng.randrange(1, 10), rng.randrange(5)
        )
    half = rng.randrange(len(data) + 1)
    flushed = compressor.compress(data[:half]) + compressor.flush(rng.choice((zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH)))
    return flushed + compressor.compress(data[half:]) + compressor.flush()


def mutated(rng, stream):
    """Some bytes changed, removed or put in, often in front, where the codes are; some streams are cut or go on."""
    stream = bytearray(stream)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(stream) + 1 if rng.random() < 0.6 else min(len(stream), 60) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            del stream[at : at + rng.randrange(1, 20)]
        elif kind == 1:
            stream[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif at < len(stream):
            stream[at] ^= 1 << rng.randrange(8)
    if rng.random() < 0.2:
        del stream[rng.randrange(len(stream) + 1) :]
    return bytes(stream)


def with_zlib(stream):
    """What zlib makes of a whole stream with nothing after it, or None."""
    inflater = zlib.decompressobj(-15)
    try:
        plain = inflater.decompress(stream)
    except zlib.error:
        return None
    return plain if inflater.eof and not inflater.unused_data else None


def body(stream, plain):
    return stream + struct.pack("<II", zlib.crc32(plain), len(plain))


def inflate(stream, plain):
    """What the native decoder makes of a stream that is said to inflate to ``plain``."""
    found = _core.inflate_member(body(stream, plain), max_bytes=MOST)
    return None if found is None else bytes(found)


@pytest.mark.parametrize("seed", range(4))
def test_streams_inflate_to_what_they_were_made_of_and_mutated_ones_as_with_zlib(seed):
    rng = random.Random(seed)
    taken = 0
    for _ in range(300):
        data = plain_data(rng)
        stream = deflated(rng, data)
        assert inflate(stream, data) == data
        for _ in range(10 if len(stream) < 5000 else 1):
            changed = mutated(rng, stream)
            expected = with_zlib(changed)
            # Where zlib refuses, the size and the checksum are those of the data before: nothing else gives it away.
            assert inflate(changed, data if expected is None else expected) == expected
            taken += expected is not None
    assert taken > 100  # mutated streams are not all refused, or the bytes would go unchecked


def in_parts(rng, stream, most):
    """What the native decoder makes of a stream in parts, how that ends, and how many bytes are after the end."""
    inflater = _core.StreamInflater()
    plain = bytearray()
    rest = memoryview(stream)
    while True:
        if inflater.needs_input:
            if not rest:
                return bytes(plain), "incomplete", 0
            size = rng.randrange(1, most)
            inflater.feed(rest[:size])
            rest = rest[size:]
        plain += inflater.next()
        if inflater.damaged:
            return bytes(plain), "damaged", 0
        if inflater.done:
            return bytes(plain), "done", inflater.unread + len(rest)


def fed_to_zlib(stream):
    """The same with zlib, byte by byte."""
    inflater = zlib.decompressobj(-15)
    plain = bytearray()
    for at in range(len(stream)):
        try:
            plain += inflater.decompress(stream[at : at + 1])
        except zlib.error:
            return bytes(plain), "damaged", 0
        if inflater.eof:
            return bytes(plain), "done", len(stream) - at - 1
    return bytes(plain), "incomplete", 0


@pytest.mark.parametrize("seed", range(3))
def test_streams_in_parts_of_any_size_end_where_they_do_with_zlib(seed):
    rng = random.Random(200 + seed)
    ends = set()
    for _ in range(150):
        data = plain_data(rng)
        stream = deflated(rng, data)
        after = rng.randbytes(rng.randrange(12))
        most = rng.choice((2, 30, 3000, 100_000))
        assert in_parts(rng, stream + after, most) == (data, "done", len(after))
        for _ in range(10 if len(stream) < 5000 else 1):
            changed = mutated(rng, stream)
            plain, end, unread = in_parts(rng, changed, most)
            expected = fed_to_zlib(changed)
            if end == "damaged" and expected[1] == "incomplete":
                expected = fed_to_zlib(changed + bytes(50))  # zlib refuses some codes only when it has read them all
            assert (end, unread) == expected[1:]
            # zlib drops what a byte still gives before what is wrong with it.
            assert plain.startswith(expected[0]) if end == "damaged" else plain == expected[0]
            ends.add(end)
    assert ends == {"done", "damaged", "incomplete"}


def test_a_stream_far_larger_than_a_piece_comes_in_pieces_of_a_bounded_size():
    data = random.Random(4).choices(range(200), k=30_000)
    data = bytes(data) * 30 + bytes(5_000_000)
    inflater = _core.StreamInflater()
    inflater.feed(zlib.compress(data, wbits=-15))
    with pytest.raises(ValueError, match="already"):
        inflater.feed(b"more")
    pieces = []
    while not inflater.done:
        pieces.append(bytes(inflater.next()))
        assert not inflater.damaged
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= 1 << 18


@pytest.mark.parametrize("seed", range(2))
def test_two_members_in_turns_are_as_each_alone(seed):
    rng = random.Random(100 + seed)
    with closing(_core.MemberQueue(threads=2, max_bytes=MOST)) as queue:
        expected = []
        for _ in range(200):
            pair = []
            for _ in range(2):
                data = plain_data(rng)
                stream = deflated(rng, data)
                if rng.random() < 0.3:
                    stream = mutated(rng, stream)
                plain = with_zlib(stream)
                pair.append(body(stream, data if plain is None else plain))
                expected.append(plain)
            queue.submit(*pair)
        found = [piece for _ in range(200) for piece in queue.next()]
    assert [None if piece is None else bytes(piece) for piece in found] == expected


def test_a_member_fails_for_its_trailer():
    data = b"some data " * 1000
    stream = deflated(random.Random(1), data)
    good = body(stream, data)
    assert bytes(_core.inflate_member(good, max_bytes=len(data))) == data
    assert _core.inflate_member(good, max_bytes=len(data) - 1) is None
    for wrong in (len(data) - 1, len(data) + 1, 0, MOST, 0xFFFFFFFF):
        assert _core.inflate_member(stream + struct.pack("<II", zlib.crc32(data), wrong), max_bytes=1 << 32) is None
    assert _core.inflate_member(stream + struct.pack("<II", zlib.crc32(data) ^ 1, len(data)), max_bytes=MOST) is None
    for size in range(8):
        assert _core.inflate_member(good[:size], max_bytes=MOST) is None


def test_a_queue_ends_with_members_under_way():
    data = random.Random(2).randbytes(500_000)
    queue = _core.MemberQueue(threads=2, max_bytes=MOST)
    for _ in range(6):
        queue.submit(body(zlib.compress(data, wbits=-15), data), b"")
    queue.close()
    with pytest.raises(ValueError, match="closed"):
        queue.next()


@pytest.mark.parametrize("kernel", _core.crc32_kernels())
def test_every_crc32_kernel_agrees_with_zlib(kernel):
    rng = random.Random(3)
    data = memoryview(rng.randbytes(5000))
    for size in (*range(300), 4096, 4999):
        start = rng.randrange(len(data) - size + 1)
        first = rng.getrandbits(32)
        assert _core.crc32(data[start : start + size], first, kernel) == zlib.crc32(data[start : start + size], first)


def test_a_match_that_reaches_too_far_back_is_found_by_whoever_decodes_it():
    """Also where it is noted ahead of the stream, when nobody knows yet how much comes before."""
    literals = "".join(f"{0x30 + value:08b}" for value in random.Random(5).choices(range(144), k=20_000))
    too_far = "0000001" + "11101" + "0" * 13  # three bytes from 24,577 back
    for before in (100, 1500, 2500, 3000, 3500, 4000, 5000, 9000):
        bits = "110" + literals[: 8 * before] + too_far + literals[8 * before :] + "0000000"
        stream = b"".join(int(bits[at : at + 8][::-1], 2).to_bytes() for at in range(0, len(bits), 8))
        plain, end, _ = in_parts(random.Random(), stream, len(stream) + 1)
        assert (plain, end) == fed_to_zlib(stream)[:2]
        assert (len(plain), end) == (before, "damaged")
