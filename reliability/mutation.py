"""Makes bytes, and values of JSON, into ones that nobody would write."""

from __future__ import annotations

import random
from typing import Any

_ODD_BYTES = bytes([0x00, 0x01, 0x08, 0x0A, 0x12, 0x1A, 0x1F, 0x7F, 0x80, 0x8B, 0xFF])

_ODD_VALUES = [
    None, True, False, 0, 1, -1, 2**31, 2**32, 2**63, 2**64, 10**30, 0.5, 1e308, -0.0, float("inf"), float("nan"),
    "", "a", "../a", "/etc/passwd", "C:\\a", "..\\a", "a\0b", "\ud800", "int64", "x" * 300,
    [], {}, [[]], [None], {"": None}, [[[[[[[[]]]]]]]],
]  # fmt: skip


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, replace, insert, repeat or remove some bytes, or cut the rest."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at = rng.randrange(len(changed) + 1)
        end = at + rng.choice([1, 1, 2, 4, 8, 32])
        match rng.randrange(7):
            case 0 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(changed):
                changed[at] = rng.choice(_ODD_BYTES)
            case 2:
                changed[at:at] = rng.randbytes(end - at)
            case 3:
                changed[at:at] = changed[at:end]
            case 4:
                del changed[at:end]
            case 5:
                changed[at:end] = bytes(end - at) if rng.random() < 0.5 else b"\xff" * (end - at)
            case 6 if rng.random() < 0.3:
                del changed[at:]
    return bytes(changed)


def mutate_json(rng: random.Random, value: Any) -> Any:
    """Put something else in one or more places of a value."""
    if rng.random() < 0.08:
        return rng.choice(_ODD_VALUES)
    if isinstance(value, dict) and value:
        items = list(value.items())
        key, one = rng.choice(items)
        match rng.randrange(8):
            case 0:
                return {other: kept for other, kept in items if other != key}
            case 1:
                return {rng.choice(["", "a", "../a", key + key]) if other == key else other: v for other, v in items}
            case _:
                return value | {key: mutate_json(rng, one)}
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:at] + value[at : at + 1] * rng.choice([0, 2, 3]) + value[at + 1 :]
        return [*value[:at], mutate_json(rng, value[at]), *value[at + 1 :]]
    return rng.choice(_ODD_VALUES)
