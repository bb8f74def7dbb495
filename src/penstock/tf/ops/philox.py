"""Philox4x32-10, the random number generator of TensorFlow, with identical output."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85
_MASK = (1 << 32) - 1
_LOW = np.uint64(_MASK)
_HALF = np.uint64(32)
# Blocks of four words per computation; few at first, because most shuffles draw few words.
_FIRST_BLOCKS, _MAX_BLOCKS = 16, 4096


def words(key: int, stream: int) -> Iterator[int]:
    """Iterate over the 32-bit words that TensorFlow draws for two 64-bit seeds."""
    start, count = 0, _FIRST_BLOCKS
    while True:
        yield from blocks(key, stream, start, count).ravel().tolist()
        start, count = start + count, min(2 * count, _MAX_BLOCKS)


def blocks(key: int, stream: int, start: int, count: int) -> NDArray[np.uint64]:
    """Compute blocks of four words for a range of counters; the upper half of a counter is the second seed."""
    if count == 1:
        return np.array([_block(key, stream, start)], np.uint64)
    numbers = np.arange(start, start + count, dtype=np.uint64)
    c0, c1 = numbers & _LOW, numbers >> _HALF
    c2, c3 = np.full_like(c0, stream & _MASK), np.full_like(c0, stream >> 32 & _MASK)
    k0, k1 = key & _MASK, key >> 32 & _MASK
    for _ in range(10):
        product0, product1 = c0 * np.uint64(_MULTIPLIERS[0]), c2 * np.uint64(_MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            product1 >> _HALF ^ c1 ^ np.uint64(k0),
            product1 & _LOW,
            product0 >> _HALF ^ c3 ^ np.uint64(k1),
            product0 & _LOW,
        )
        k0, k1 = (k0 + _STEPS[0]) & _MASK, (k1 + _STEPS[1]) & _MASK
    return np.stack([c0, c1, c2, c3], axis=1)


def _block(key: int, stream: int, counter: int) -> tuple[int, int, int, int]:
    """Compute one block with Python integers, ten times as fast as with arrays of one element."""
    c0, c1, c2, c3 = counter & _MASK, counter >> 32 & _MASK, stream & _MASK, stream >> 32 & _MASK
    k0, k1 = key & _MASK, key >> 32 & _MASK
    for _ in range(10):
        product0, product1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = product1 >> 32 ^ c1 ^ k0, product1 & _MASK, product0 >> 32 ^ c3 ^ k1, product0 & _MASK
        k0, k1 = (k0 + _STEPS[0]) & _MASK, (k1 + _STEPS[1]) & _MASK
    return c0, c1, c2, c3
