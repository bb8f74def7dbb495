"""Continue after damage in a compressed stream, if possible: at the next member of a gzip file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock import _core
from penstock.compression import inflate
from penstock.compression.byte_source import ByteSource
from penstock.compression.detect import Compression, Plain, Trailing
from penstock.compression.gzip import HEADER_BYTES, inflate_next_member, judge_trailing, member_size
from penstock.errors import CorruptDataError

_MAGIC = b"\x1f\x8b\x08"
_HEADER_FIELDS = 0x1F  # the flags for optional fields between the header and the data
# A damaged member may be inflated far beyond its end: this much is buffered to go back to.
_BUFFERED = 64 << 20
# How much of a candidate member is inflated to see whether it holds records.
_TRIAL_INPUT, _TRIAL_OUTPUT = 256 << 10, 1 << 20
# How much trials may inflate per searched byte, and at least: a stream may consist of starts of members.
_TRIALS_PER_BYTE, _TRIALS_AT_LEAST = 16, 64 << 20


@dataclass(frozen=True)
class Gap:
    """A part of a stream that could not be inflated; the bytes after it could be."""

    error: CorruptDataError
    at_record: bool
    """Whether a record is known to start after it."""


def inflate_parts(
    kind: Compression, pieces: Iterable[bytes], *, path: str, trailing: Trailing, multistream: bool
) -> Iterator[Plain | Gap]:
    """Inflate what can be inflated of a damaged stream."""
    if kind == "GZIP":
        yield from _inflate_members(pieces, path, trailing)
        return
    try:
        yield from inflate(kind, pieces, path=path, trailing=trailing, multistream=multistream)
    except CorruptDataError as error:
        yield Gap(error, at_record=False)


def _inflate_members(pieces: Iterable[bytes], path: str, trailing: Trailing) -> Iterator[Plain | Gap]:
    tape = _Tape(pieces)
    source = ByteSource(tape, path)
    while not source.at_end():
        start = tape.position - source.unread
        tape.forget(start)
        is_stream = source.peek(2) == _MAGIC[:2]
        try:
            yield from inflate_next_member(source)
            continue
        except CorruptDataError as caught:
            error = caught
        source = _go_back(tape, start + 1, source)
        found = _seek_member(source)
        if start and not is_stream and not found:
            source = _go_back(tape, start, source)
            try:
                return judge_trailing(source, trailing, first=False, kind="gzip")
            except CorruptDataError as caught:
                error = caught
        yield Gap(error, at_record=found and member_size(source.peek(HEADER_BYTES)) is not None)


def _go_back(tape: _Tape, position: int, source: ByteSource) -> ByteSource:
    tape.rewind(position)
    again = ByteSource(tape, source.path)
    again.inflated = source.inflated
    return again


def _seek_member(source: ByteSource) -> bool:
    """Advance to the next member that holds records; return False if there is none."""
    passed = spent = 0
    while len(window := source.peek(_TRIAL_INPUT)) >= len(_MAGIC):
        at = window.find(_MAGIC)
        if at < 0:
            at = len(window) - len(_MAGIC) + 1
        elif at == 0:
            if spent <= passed * _TRIALS_PER_BYTE + _TRIALS_AT_LEAST:
                plain = _try_member(window)
                if _core.find_header(plain) < len(plain):
                    return True
                spent += max(len(plain), len(_MAGIC))
            at = 1
        source.take(at)
        passed += at
    while source.take_some(_TRIAL_INPUT):
        pass
    return False


def _try_member(head: bytes) -> bytes:
    """Inflate some of the member that seems to start with ``head``; return nothing if it is not one."""
    skipped = _skip_header(head)
    if skipped is None:
        return b""
    inflater = _core.StreamInflater()
    inflater.feed(memoryview(head)[skipped:])
    plain = bytearray()
    while len(plain) < _TRIAL_OUTPUT and len(piece := inflater.next()):
        plain += piece
    return b"" if inflater.damaged else bytes(plain)


def _skip_header(head: bytes) -> int | None:
    """Return the number of bytes before the deflate data; None if this is not a header."""
    if len(head) < 10 or head[3] & ~_HEADER_FIELDS:
        return None
    at = 10
    if head[3] & 4:
        at += 2 + int.from_bytes(head[at : at + 2], "little")
    for flag in (8, 16):
        if head[3] & flag:
            at = head.find(b"\0", at) + 1
            if at == 0:
                return None
    return at + 2 if head[3] & 2 else at


class _Tape:
    """Pieces that can be read again, as far as they are buffered."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._buffer: list[bytes] = []
        self._start = 0
        self.position = 0
        """Bytes of all pieces that were yielded."""

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        piece = next(self._pieces)
        self._buffer.append(piece)
        self.position += len(piece)
        self.forget(self.position - _BUFFERED)
        return piece

    def forget(self, before: int) -> None:
        """Drop the pieces that end before a position."""
        while self._buffer and self._start + len(self._buffer[0]) <= before:
            self._start += len(self._buffer.pop(0))

    def rewind(self, position: int) -> None:
        """Go back to a position, or to the oldest buffered piece."""
        position = max(position, self._start)
        again = b"".join(self._buffer)[position - self._start :]
        self._pieces = itertools.chain([again] if again else [], self._pieces)
        self._buffer = []
        self._start = self.position = position
