"""Find the members of a gzip file that Penstock wrote, without inflating them."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from penstock.compression.gzip import EMPTY_FILE, HEADER_BYTES, MOST_AT_ONCE, sized_member
from penstock.index.shard_index import FRAME_OVERHEAD, Members, Uint64s

_LENGTH_BYTES = 4  # at the end of a member: its inflated size


def hop_members(path: str, size: int) -> Members | None:
    """Read only the headers of a local file; return None if a member does not state its size and its records."""
    scan = _scan(size)
    with open(path, "rb", buffering=0) as file:
        try:
            offset, count = next(scan)
            while True:
                file.seek(offset)
                offset, count = scan.send(file.read(count))
        except StopIteration as end:
            members: Members | None = end.value
            return members


class MemberWatch:
    """Finds members in a file that is read in pieces."""

    def __init__(self, size: int) -> None:
        self.members: Members | None = None
        """The members, after the whole file was seen, if it consists of them."""
        self._scan = _scan(size)
        self._position = 0
        self._seen = b""
        self._wanted = 0
        self._count = 0
        self._request(None)

    def see(self, piece: bytes) -> None:
        """Look at the next piece."""
        begin, self._position = self._position, self._position + len(piece)
        while self._count and (start := self._wanted + len(self._seen)) < self._position:
            self._seen += piece[start - begin : self._wanted + self._count - begin]
            if len(self._seen) == self._count:
                self._request(self._seen)

    def _request(self, received: bytes | None) -> None:
        self._seen = b""
        try:
            self._wanted, self._count = next(self._scan) if received is None else self._scan.send(received)
        except StopIteration as end:
            self.members, self._count = end.value, 0


def _scan(size: int) -> Generator[tuple[int, int], bytes, Members | None]:
    """Yield the ranges to read as (offset, count), receive their bytes, and return the members of the file."""
    sizes, inflated_sizes, records = [], [], []
    offset = 0
    while offset < size:
        head = yield offset, min(HEADER_BYTES, size - offset)
        member = sized_member(head)
        if head.startswith(EMPTY_FILE):
            compressed, inflated, count = len(EMPTY_FILE), 0, 0
        elif member is None or member.size > size - offset:
            return None
        else:
            compressed, count = member
            inflated = int.from_bytes((yield offset + compressed - _LENGTH_BYTES, _LENGTH_BYTES), "little")
            # Reading cannot start at a member that is too large to inflate at once, or cannot hold its records.
            if inflated > MOST_AT_ONCE or count * FRAME_OVERHEAD > inflated:
                return None
        sizes.append(compressed)
        inflated_sizes.append(inflated)
        records.append(count)
        offset += compressed
    return Members(cumulated(sizes), cumulated(inflated_sizes), cumulated(records))


def cumulated(sizes: Sequence[int] | Uint64s) -> Uint64s:
    """Return where each of several consecutive parts starts, and where the last one ends."""
    starts = np.zeros(len(sizes) + 1, np.uint64)
    np.cumsum(sizes, out=starts[1:], dtype=np.uint64)
    return starts
