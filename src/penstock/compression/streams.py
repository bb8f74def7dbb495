"""Inflates gzip and zlib streams.

The containers are read here and the deflate data between them by the native decoder. Everything before damage or a bad
trailer is given out before the error, the end of every stream is checked (a missing trailer is an error), and gzip
members that tell their own size (see :mod:`penstock.compression.members`) are inflated in parallel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from isal import isal_zlib

from penstock import _core
from penstock.compression.detect import is_zlib_header
from penstock.compression.kinds import Plain, Trailing
from penstock.compression.members import HEADER_BYTES, MOST_AT_ONCE, THREADS, body_of, member_size
from penstock.compression.pieces import Pieces

_INPUT = 1 << 19

# Pairs of members under way: each thread has one, and one more waits, for the consumer comes back when it can.
_AHEAD = THREADS + 1

_FHCRC, _FEXTRA, _FNAME, _FCOMMENT, _RESERVED = 2, 4, 8, 16, 0xE0


def inflate_gzip(pieces: Iterable[bytes], path: str, trailing: Trailing) -> Iterator[Plain]:
    """Inflate a sequence of gzip members, empty ones included."""
    source = Pieces(pieces, path)
    first = True
    while not source.at_end():
        if source.peek(2) != b"\x1f\x8b":
            return judge_trailing(source, trailing, first, "gzip")
        if _sized_member_is_next(source):
            yield from _inflate_sized_members(source)
        else:
            yield from inflate_next_member(source)
        first = False


def inflate_zlib(pieces: Iterable[bytes], path: str, trailing: Trailing, multistream: bool) -> Iterator[Plain]:
    """Inflate a zlib stream, and those behind it where ``multistream`` says so."""
    source = Pieces(pieces, path)
    first = True
    while not source.at_end():
        header = source.peek(2)
        if not is_zlib_header(header):
            return judge_trailing(source, trailing, first, "zlib")
        if not first and not multistream:
            if trailing == "ignore":
                return
            raise source.error(
                "a second zlib stream follows the first (TensorFlow drops it in silence); "
                "read on with multistream=True",
                "trailing-bytes",
            )
        if header[1] & 0x20:
            raise source.error("the zlib stream needs a preset dictionary")
        source.take(2)
        yield from _inflate_body(source, isal_zlib.adler32, 1)  # three times as fast as zlib's
        if int.from_bytes(source.take(4), "big") != source.checksum:
            raise source.checksum_error()
        first = False


def _sized_member_is_next(source: Pieces) -> bool:
    size = member_size(source.peek(HEADER_BYTES))
    return size is not None and source.has(size)


def _inflate_sized_members(source: Pieces) -> Iterator[Plain]:
    """Inflate members that tell their size, on threads and in order, until one does not or is cut short."""
    ahead: deque[list[memoryview]] = deque()
    with closing(_core.MemberQueue(threads=THREADS, most=MOST_AT_ONCE)) as queue:
        while True:
            while len(ahead) < _AHEAD and (members := _take_sized_members(source)):
                queue.submit(*(body_of(member) for member in members), *[b""] * (2 - len(members)))
                ahead.append(members)
            if not ahead:
                return
            for member, plain in zip(ahead.popleft(), queue.next(), strict=False):
                if plain is not None:
                    source.inflated += len(plain)
                    yield plain
                    continue
                # Damaged or very large: go through it step by step, to give out what is good and say what is not.
                alone = Pieces([bytes(member)], source.path)
                alone.inflated = source.inflated
                yield from inflate_next_member(alone)
                if not alone.at_end():
                    raise alone.error("a gzip member is shorter than its header says")
                source.inflated = alone.inflated


def _take_sized_members(source: Pieces) -> list[memoryview]:
    """The next two, or fewer, members that tell their size: a thread inflates two in less time than one by one."""
    members: list[memoryview] = []
    while len(members) < 2 and _sized_member_is_next(source):
        members.append(source.take_view(member_size(source.peek(HEADER_BYTES)) or 0))
    return members


def inflate_next_member(source: Pieces) -> Iterator[Plain]:
    """Inflate one gzip member, anybody's, step by step; what comes before damage is given out before the error."""
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


def _inflate_body(source: Pieces, checksum: Callable[[Plain, int], int], start: int) -> Iterator[Plain]:
    """Inflate raw deflate data up to its end; the checksum of what came out is left in the source."""
    inflater = _core.StreamInflater()
    source.checksum = start
    while not inflater.done:
        if inflater.needs_input:
            data = source.take_some(_INPUT)
            if not data:
                raise source.truncated()
            inflater.feed(data)
        plain = inflater.next()
        source.checksum = checksum(plain, source.checksum)
        source.inflated += len(plain)
        if len(plain):
            yield plain
        if inflater.damaged:
            raise source.error("the compressed data cannot be inflated")
    source.give_back(inflater.unread)


def judge_trailing(source: Pieces, trailing: Trailing, first: bool, kind: str) -> None:
    """Judge bytes that start no stream: a wrong file, or something behind the last stream."""
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
        f"{count} {what} behind the last {kind} stream (all records before them were read; "
        f"pass them over with trailing={remedy!r})",
        "trailing-bytes",
    )
