"""Finds the members of a gzip file that Penstock wrote, without inflating them."""

from __future__ import annotations

from collections.abc import Sequence
from io import FileIO

import numpy as np

from penstock.compression.members import EMPTY_FILE, HEADER_BYTES, sized_member
from penstock.index.lengths import FRAME_OVERHEAD, Uint64s
from penstock.index.shard_index import Members

_SIZE_BYTES = 4
"""At the end of a member: how long it is when inflated."""


def hop_members(path: str, size: int) -> Members | None:
    """Hop through a local file; answer None where a member does not tell its size and its records."""
    with open(path, "rb", buffering=0) as file:
        return _hop(file, size)


def _hop(file: FileIO, size: int) -> Members | None:
    sizes, stream_sizes, records = [], [], []
    offset = 0
    while offset < size:
        file.seek(offset)
        head = file.read(HEADER_BYTES)
        if head.startswith(EMPTY_FILE):
            member_size, count, inflated = len(EMPTY_FILE), 0, 0
        else:
            told = sized_member(head)
            if told is None or told.size > size - offset:
                return None
            member_size, count = told.size, told.records
            file.seek(offset + member_size - _SIZE_BYTES)
            inflated = int.from_bytes(file.read(_SIZE_BYTES), "little")
            if count * FRAME_OVERHEAD > inflated:
                return None
        sizes.append(member_size)
        stream_sizes.append(inflated)
        records.append(count)
        offset += member_size
    return Members(cumulated(sizes), cumulated(stream_sizes), cumulated(records))


def cumulated(sizes: Sequence[int] | Uint64s) -> Uint64s:
    """Where each of some parts that follow each other begins, and where the last one ends."""
    starts = np.zeros(len(sizes) + 1, np.uint64)
    np.cumsum(sizes, out=starts[1:], dtype=np.uint64)
    return starts
