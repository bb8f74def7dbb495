"""The order in which rows are written: shuffled by a seed, and dealt to the shards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def check_seed(seed: int | None) -> None:
    """Refuse what is no seed."""
    if seed is not None and not 0 <= seed < 1 << 64:
        raise ValueError(f"shuffle is a seed from 0 to 2**64 - 1, not {seed}")


def permutation(seed: int, block: int, rows: int) -> NDArray[np.int64]:
    """Answer an order of ``rows`` rows that is the same for the same seed and block, always and everywhere.

    Rows are sorted by random keys: NumPy promises the bits of its generators, not what it makes of them.
    """
    keys = np.random.Philox(key=np.array([seed, block], np.uint64)).random_raw(rows)
    return np.argsort(keys, kind="stable")


def deal(first: int, rows: int, shards: int) -> list[int]:
    """Answer where each shard's part of a block begins, and the end of the last.

    A shard's part is as large as if rows had been dealt one by one, whatever the blocks: over any number of blocks, no
    shard has more than one row more than another.
    """
    bounds = [0]
    for shard in range(shards):
        bounds.append(bounds[-1] + _dealt(first + rows, shard, shards) - _dealt(first, shard, shards))
    return bounds


def split(rows: int, shards: int) -> list[int]:
    """Answer where each shard's part of all rows begins, and the end of the last."""
    return [rows * shard // shards for shard in range(shards + 1)]


def _dealt(rows: int, shard: int, shards: int) -> int:
    return (rows + shards - 1 - shard) // shards
