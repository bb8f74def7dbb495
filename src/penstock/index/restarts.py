"""Make the restart points of an index of those that were found in a file, or that an index file holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.compression import Compression
from penstock.index.shard_index import Lengths, Restarts, Uint64s

MAY_RESTART: tuple[Compression, ...] = ("GZIP", "ZLIB")
# A file with longer parts between restart points, because its blocks are long, is read from its start.
MOST_BETWEEN = 32 << 20


def restarts_of(
    bits: Sequence[int] | Uint64s,
    offsets: Sequence[int] | Uint64s,
    windows: Sequence[bytes],
    lengths: Lengths,
) -> Restarts | None:
    """Return the restart points that records follow; None if they are too far apart to read a single record fast."""
    if not len(bits) or not lengths.count:
        return None
    blocks = np.asarray(offsets, np.uint64)
    first = lengths.first_from(blocks)
    # Of several points before one record, the last is the nearest.
    keep = np.flatnonzero(np.append(first[1:] > first[:-1], True) & (first < lengths.count))
    if not len(keep) or first[keep[0]] != 0:
        return None
    records = np.append(first[keep], lengths.count).astype(np.uint64)
    streams = lengths.starts_of(records)
    longest = int(np.diff(streams).max())
    if longest > MOST_BETWEEN and longest > 2 * lengths.longest:
        return None
    kept = tuple(windows[number] for number in keep.tolist())
    return Restarts(np.asarray(bits, np.uint64)[keep], blocks[keep], records, streams, kept)
