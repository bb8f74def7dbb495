"""Records that are known by their seed and number, so that whoever finds one knows where it belongs."""

from __future__ import annotations

import random

NAME = "some.tfrecord"
"""The file that they are written to."""
ROWS = 40
"""How many they are."""


def record(seed: int, number: int) -> bytes:
    """Mostly small, now and then larger than a buffer."""
    rng = random.Random(seed << 20 | number)
    size = rng.choice([0, 1, 20, 300, 3000, 3000, 40_000]) if number % 13 else 400_000
    return rng.randbytes(size)


def records(seed: int, count: int = ROWS) -> list[bytes]:
    return [record(seed, number) for number in range(count)]
