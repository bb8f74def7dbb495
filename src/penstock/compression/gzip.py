"""Gzip files as Penstock writes them: independent members of about 1 MiB, cut at record boundaries.

Every gzip reader, TensorFlow's included, reads them as one stream. Each member's header has an extra field with
its compressed size and its number of records::

    SI1 SI2 = "PS", LEN = 8, u32 bytes of the whole member, u32 records

so that members are found without inflating. They are inflated in parallel, allow random access, and damage to one does
not affect the others. A member of 4 GiB or more has no such field and is read like that of any other writer.
"""

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import NamedTuple

from isal import isal_zlib

from penstock import _core
from penstock.compression.byte_source import _INPUT, ByteSource, PointFinder, _inflate_body
from penstock.compression.detect import Plain, Trailing
from penstock.parallel import available_cpus

# magic, deflate, FEXTRA, no time, no flags, Unix; an extra field of 12 bytes: "PS", 8, member size, records
_HEADER = struct.Struct("<10sH2sHII")
_PREFIX = b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\x03"
_TRAILER = struct.Struct("<II")
EMPTY_FILE = bytes.fromhex("1f8b080000000000000303000000000000000000")
HEADER_BYTES = _HEADER.size
# A member that claims more is not inflated in one piece but as a stream, so that memory stays bounded.
MOST_AT_ONCE = 16 << 20


class SizedMember(NamedTuple):
    """What the header of a member states."""

    size: int
    """Bytes of the whole member, compressed."""
    records: int


def sized_member(head: bytes) -> SizedMember | None:
    """Return the size and records that a member's header states, if the member is small enough to inflate at once."""
    if len(head) < _HEADER.size:
        return None
    prefix, extra, name, length, size, records = _HEADER.unpack_from(head)
    if prefix != _PREFIX or (extra, name, length) != (12, b"PS", 8):
        return None
    whole = _HEADER.size + _TRAILER.size <= size <= MOST_AT_ONCE
    return SizedMember(size, records) if whole else None


def member_size(head: bytes) -> int | None:
    """Return the compressed size of a member, if its header states it and it is small enough to inflate at once."""
    member = sized_member(head)
    return member and member.size


def inflate_member(member: bytes | memoryview) -> _core.InflatedPiece | None:
    """Inflate one whole member; return None if it is damaged or too large, and must be inflated in steps."""
    return _core.inflate_member(body_of(member), max_bytes=MOST_AT_ONCE)


def body_of(member: bytes | memoryview) -> memoryview:
    """Return what follows the header of a member that states its size."""
    return memoryview(member)[_HEADER.size :]


class GzipCompressor:
    """Compresses members on threads, by default one per CPU; they come out in order."""

    def __init__(self, level: int, threads: int | None = None) -> None:
        self._level = level
        self._threads = threads or available_cpus()
        self._pool: ThreadPoolExecutor | None = None
        self._ahead: deque[Future[bytes]] = deque()
        self._empty = True

    def encode(self, framed: bytes, records: int) -> list[bytes]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="penstock-deflate")
        self._empty = False
        self._ahead.append(self._pool.submit(_deflate_member, framed, records, self._level))
        return self._take(len(self._ahead) - self._threads)

    def flush(self) -> list[bytes]:
        return self._take(len(self._ahead))

    def _take(self, count: int) -> list[bytes]:
        return [self._ahead.popleft().result() for _ in range(count)]

    def finish(self) -> list[bytes]:
        members = self.flush()
        if self._pool is not None:
            self._pool.shutdown()
        return [EMPTY_FILE] if self._empty else members


def _deflate_member(framed: bytes, records: int, level: int) -> bytes:
    body = deflate(framed, level)
    size = _HEADER.size + len(body) + _TRAILER.size
    trailer = _TRAILER.pack(_core.crc32(framed), len(framed) & 0xFFFFFFFF)
    if size >= 1 << 32:
        return b"".join((_PREFIX[:3], b"\0", _PREFIX[4:], body, trailer))
    return b"".join((_HEADER.pack(_PREFIX, 12, b"PS", 8, size, records), body, trailer))


def deflate(data: bytes, level: int) -> bytes:
    """Return raw deflate data: by isal up to level 3; above by zlib, which is smaller and ten times slower."""
    module = isal_zlib if level <= 3 else zlib
    compressor = module.compressobj(level, zlib.DEFLATED, -15)
    return b"".join((compressor.compress(data), compressor.flush()))


_FHCRC, _FEXTRA, _FNAME, _FCOMMENT, _RESERVED = 2, 4, 8, 16, 0xE0


def inflate_gzip(
    pieces: Iterable[bytes],
    path: str,
    trailing: Trailing,
    threads: int | None = None,
    finder: PointFinder | None = None,
) -> Iterator[Plain]:
    """Inflate a sequence of gzip members, empty ones included, on as many threads as there are CPUs by default."""
    source = ByteSource(pieces, path)
    source.finder = finder
    first = True
    while not source.at_end():
        if source.peek(2) != b"\x1f\x8b":
            return judge_trailing(source, trailing, first, "gzip")
        if _sized_member_is_next(source):
            yield from _inflate_sized_members(source, threads or available_cpus())
        else:
            yield from inflate_next_member(source)
        first = False


def _sized_member_is_next(source: ByteSource) -> bool:
    size = member_size(source.peek(HEADER_BYTES))
    return size is not None and source.has(size)


def _inflate_sized_members(source: ByteSource, threads: int) -> Iterator[Plain]:
    """Inflate members that state their size, on threads and in order, until one does not or is incomplete."""
    ahead: deque[list[memoryview]] = deque()
    with closing(_core.MemberQueue(threads=threads, max_bytes=MOST_AT_ONCE)) as queue:
        while True:
            # One pair for each thread, and one more that is ready when a thread becomes free.
            while len(ahead) <= threads and (members := _take_sized_members(source)):
                queue.submit(*(body_of(member) for member in members), *[b""] * (2 - len(members)))
                ahead.append(members)
            if not ahead:
                return
            for member, plain in zip(ahead.popleft(), queue.next(), strict=False):
                if plain is not None:
                    source.inflated += len(plain)
                    yield plain
                    continue
                # Damaged or very large: inflate it in steps, to yield the good bytes and report where the damage is.
                alone = ByteSource([bytes(member)], source.path)
                alone.inflated = source.inflated
                yield from inflate_next_member(alone)
                if not alone.at_end():
                    raise alone.error("a gzip member is shorter than its header says")
                source.inflated = alone.inflated


def _take_sized_members(source: ByteSource) -> list[memoryview]:
    """Return the next two, or fewer, members that state their size: a thread inflates a pair faster than one by one."""
    members: list[memoryview] = []
    while len(members) < 2 and _sized_member_is_next(source):
        members.append(source.take_view(member_size(source.peek(HEADER_BYTES)) or 0))
    return members


def inflate_next_member(source: ByteSource) -> Iterator[Plain]:
    """Inflate a gzip member of any writer step by step; bytes before damage are yielded before the error."""
    fixed = source.take(10)
    flags = fixed[3]
    if fixed[:3] != b"\x1f\x8b\x08" or flags & _RESERVED:
        raise source.error("incorrect gzip header")
    if flags & _FEXTRA:
        source.take(int.from_bytes(source.take(2), "little"))
    for flag in (_FNAME, _FCOMMENT):
        if flags & flag:
            while source.take(1) != b"\0":
                pass
    if flags & _FHCRC:
        source.take(2)
    start = source.inflated
    yield from _inflate_body(source, _core.crc32, 0)
    trailer = source.take(8)
    if int.from_bytes(trailer[:4], "little") != source.checksum:
        raise source.checksum_error()
    if int.from_bytes(trailer[4:], "little") != (source.inflated - start) & 0xFFFFFFFF:
        raise source.error("the size in the gzip trailer does not match")


def judge_trailing(source: ByteSource, trailing: Trailing, first: bool, kind: str) -> None:
    """Raise for bytes that do not start a stream, a wrong file or trailing data, unless ``trailing`` allows them."""
    if first:
        raise source.error(f"this is no {kind} stream")
    if trailing == "ignore":
        return
    padding = True
    count = 0
    while piece := source.take_some(_INPUT):
        padding = padding and piece == bytes(len(piece))
        count += len(piece)
    if padding and trailing == "zeros":
        return
    noun = "byte" if count == 1 else "bytes"
    what = f"zero {noun}" if padding else f"{noun} of no further stream"
    remedy = "zeros" if padding else "ignore"
    raise source.error(
        f"{count} {what} after the last {kind} stream (all records before them were read; "
        f"skip them with trailing={remedy!r})",
        "trailing-bytes",
    )
