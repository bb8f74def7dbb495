"""Read a stream of compressed pieces in other sizes than it comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from penstock import _core
from penstock.compression.detect import Plain
from penstock.errors import ChecksumError, CompressionError, TruncatedError


class PointFinder(Protocol):
    """Is shown deflate data while it is inflated."""

    def begin(self, source: ByteSource) -> None:
        """Deflate data starts here."""

    def is_due(self, source: ByteSource) -> bool:
        """Return whether to stop at the next block."""

    def see_block(self, source: ByteSource, inflater: _core.StreamInflater, data: memoryview) -> None:
        """A block starts here; ``data`` is the latest input."""


class ByteSource:
    """Compressed bytes from an iterator of pieces, with lookahead and the position for error messages."""

    def __init__(self, pieces: Iterable[bytes], path: str) -> None:
        self.path = path
        self.inflated = 0
        """Bytes of the uncompressed stream yielded so far: offsets in errors count these."""
        self.checksum = 0
        """The checksum of what the current stream has yielded."""
        self.finder: PointFinder | None = None
        """Finds the points from which the stream can be inflated again."""
        self._pieces = iter(pieces)
        self._received = 0
        self._buffer = self._next = memoryview(b"")
        """The current piece, and the pieces after it."""
        self._position = 0

    @property
    def position(self) -> int:
        """Bytes taken so far."""
        return self._received - self.unread

    @property
    def unread(self) -> int:
        """Bytes that were received and not taken yet."""
        return self._at_hand + len(self._next)

    @property
    def _at_hand(self) -> int:
        return len(self._buffer) - self._position

    def at_end(self) -> bool:
        return not self.has(1)

    def has(self, count: int) -> bool:
        """Return whether ``count`` more bytes follow; if so, they are buffered."""
        if self._at_hand == 0:
            self._buffer, self._next = self._coming(), memoryview(b"")
            self._position = 0
        if self._at_hand < count:
            self._gather(count)
        return self._at_hand >= count

    def _gather(self, count: int) -> None:
        """Join as many pieces as needed, once; the unneeded rest of the last one is not copied."""
        gathered = [self._buffer[self._position :]]
        missing = count - self._at_hand
        while missing and (piece := self._coming()):
            gathered.append(piece[:missing])
            self._next = piece[missing:]
            missing -= len(gathered[-1])
        self._buffer = memoryview(b"".join(gathered))
        self._position = 0

    def _coming(self) -> memoryview:
        if self._next:
            return self._next
        piece = memoryview(next(self._pieces, b""))
        self._received += len(piece)
        return piece

    def peek(self, count: int) -> bytes:
        """Return up to ``count`` bytes without taking them; fewer only at the end of the stream."""
        self.has(count)
        return bytes(self._buffer[self._position : self._position + count])

    def take(self, count: int) -> bytes:
        """Take exactly ``count`` bytes, or raise :class:`TruncatedError`."""
        return bytes(self.take_view(count))

    def take_view(self, count: int) -> memoryview:
        """Take bytes as :meth:`take` does, without a copy."""
        if not self.has(count):
            raise self.truncated()
        self._position += count
        return self._buffer[self._position - count : self._position]

    def take_some(self, most: int) -> memoryview:
        """Take what is buffered, at most ``most`` bytes; none only at the end of the stream."""
        if self.at_end():
            return memoryview(b"")
        data = self._buffer[self._position : self._position + most]
        self._position += len(data)
        return data

    def give_back(self, count: int) -> None:
        """Put back the last ``count`` bytes that were taken."""
        self._position -= count

    def error(self, what: str, kind: str = "inflate") -> CompressionError:
        where = f"{self.path}, at byte {self.inflated} of the uncompressed stream"
        return CompressionError(f"{what}: {where}", path=self.path, offset=self.inflated, kind=kind)

    def checksum_error(self) -> ChecksumError:
        return ChecksumError(
            f"the checksum of the compressed stream does not match: {self.path}, "
            f"at byte {self.inflated} of the uncompressed stream",
            path=self.path,
            offset=self.inflated,
            kind="stream-crc",
        )

    def truncated(self) -> TruncatedError:
        return TruncatedError(
            f"the compressed stream is incomplete: {self.path} ends after {self.inflated} uncompressed bytes, "
            "inside a stream; its writer was probably not closed",
            path=self.path,
            offset=self.inflated,
            kind="truncated-stream",
        )


_INPUT = 1 << 19


def _inflate_body(source: ByteSource, checksum: Callable[[Plain, int], int], start: int) -> Iterator[Plain]:
    """Inflate raw deflate data up to its end, and store the checksum of the result in the source."""
    inflater = _core.StreamInflater()
    source.checksum = start
    finder, data = source.finder, memoryview(b"")
    if finder is not None:
        finder.begin(source)
    while not inflater.done:
        if inflater.needs_input:
            data = source.take_some(_INPUT)
            if not data:
                raise source.truncated()
            inflater.feed(data)
        if finder is not None and finder.is_due(source):
            inflater.stop_at_block()
        plain = inflater.next()
        source.checksum = checksum(plain, source.checksum)
        source.inflated += len(plain)
        if finder is not None and inflater.at_block:
            finder.see_block(source, inflater, data)
        if len(plain):
            yield plain
        if inflater.damaged:
            raise source.error("the compressed data cannot be inflated")
    source.give_back(inflater.unread)
