"""Examples and SequenceExamples as no serializer writes them, and bytes that are no longer either; seeded."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from schema_examples import field, varint

KEYS = [b"", b"a", b"b", b"label", b"a longer key", "schlüssel".encode(), b"\xff"]
CHANGES_AT_MOST = 4


def odd_message(random: Random, *, sequence_example: bool) -> bytes:
    """A message whose lengths are right, with every oddity that the wire format allows."""
    out = b""
    for _ in range(random.choice([1, 1, 1, 0, 2, 3])):
        out += _unknown(random) + field(1, _map(random, _feature))
        if sequence_example or random.random() < 0.1:
            out += field(2, _map(random, _feature_list))
    return out + _unknown(random)


def mutate(random: Random, message: bytes, other: bytes) -> bytes:
    """Change some bytes: flips, edits of lengths, insertions, deletions, repetitions, splices, cuts."""
    data = bytearray(message)
    for _ in range(random.randint(1, CHANGES_AT_MOST)):
        at = random.randint(0, len(data))
        size = random.randint(1, 6)
        match random.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << random.randrange(8)
            case 1 if at < len(data):
                data[at] = (data[at] + random.choice([-1, 1])) & 0xFF
            case 2 if at < len(data):
                data[at] = random.choice(b"\x00\x7f\x80\xff\x0a\x08\x0d\x12\x1a\x09\x0e\x0f")
            case 3:
                data[at:at] = _long_varint(random, random.getrandbits(random.choice([7, 14, 32, 64])))
            case 4:
                del data[at : at + size]
            case 5:
                data[at:at] = data[at : at + size]
            case 6:
                data[at:] = other[random.randint(0, len(other)) :]
            case 7:
                del data[at:]
    return bytes(data)


def _long_varint(random: Random, number: int) -> bytes:
    """A number in more bytes than it needs: up to eleven, which is one too many."""
    short = varint(number)
    padding = random.choice([0, 0, 1, 2, 3, 10 - len(short), 11 - len(short)])
    if padding <= 0:
        return short
    return short[:-1] + bytes([short[-1] | 0x80]) + b"\x80" * (padding - 1) + b"\x00"


def _tag(random: Random, number: int, wire_type: int) -> bytes:
    tag = number << 3 | wire_type
    return _long_varint(random, tag) if random.random() < 0.03 else varint(tag)


def _unknown(random: Random) -> bytes:
    if random.random() < 0.93:
        return b""
    number = random.choice([1, 2, 3, 4, 15, 16, 2**29 - 1])
    match random.randrange(5):
        case 0:
            return _tag(random, number, 0) + _long_varint(random, random.getrandbits(60))
        case 1:
            return _tag(random, number, 1) + random.randbytes(8)
        case 2:
            return field(random.choice([4, 5, 100]), random.randbytes(random.randrange(5)))
        case 3:
            return _tag(random, number, 5) + random.randbytes(4)
    return varint(number << 3 | 3) + varint(number << 3 | 4) if random.random() < 0.2 else b""


def _integers(random: Random) -> bytes:
    values = [
        random.choice([0, 1, 127, 128, 300, 2**31, 2**62, -1, -(2**63)]) for _ in range(random.choice([0, 1, 1, 2, 12]))
    ]
    write: Callable[[int], bytes] = varint if random.random() < 0.9 else lambda value: _long_varint(random, value)
    if random.random() < 0.3:
        return b"".join(_tag(random, 1, 0) + write(value) for value in values)
    return field(1, b"".join(map(write, values)))


def _floats(random: Random) -> bytes:
    values = [
        random.choice([struct.pack("<f", 1.5), b"\x01\x00\xa0\x7f", random.randbytes(4)])
        for _ in range(random.choice([0, 1, 1, 2, 9]))
    ]
    if random.random() < 0.3:
        return b"".join(_tag(random, 1, 5) + value for value in values)
    return field(1, b"".join(values))


def _strings(random: Random) -> bytes:
    return b"".join(field(1, random.randbytes(random.choice([0, 1, 12, 13]))) for _ in range(random.randrange(3)))


def _feature(random: Random) -> bytes:
    out = _unknown(random)
    kinds = [_strings, _floats, _integers]
    for _ in range(random.choice([1, 1, 1, 1, 0, 2, 3])):
        kind = random.randrange(3)
        runs = [kinds[kind](random) + _unknown(random) for _ in range(random.choice([1, 1, 1, 0, 2]))]
        out += field(1 + kind, _unknown(random) + b"".join(runs))
    return out + _unknown(random)


def _feature_list(random: Random) -> bytes:
    return b"".join(_unknown(random) + field(1, _feature(random)) for _ in range(random.randrange(3)))


def _map(random: Random, value: Callable[[Random], bytes]) -> bytes:
    out = b""
    for _ in range(random.randrange(4)):
        key = field(1, random.choice(KEYS[:-1] if random.random() < 0.97 else KEYS))
        values = [field(2, value(random)) for _ in range(random.choice([1, 1, 1, 1, 1, 0, 2]))]
        parts = [*([key] * random.choice([1, 1, 1, 1, 1, 0, 2])), *values]
        if random.random() < 0.1:
            random.shuffle(parts)
        out += field(1, b"".join(parts) + (_unknown(random) if random.random() < 0.3 else b"")) + _unknown(random)
    return out
