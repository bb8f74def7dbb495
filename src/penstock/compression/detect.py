"""Detect the compression of a file by its first bytes or by its name."""

from __future__ import annotations

import zlib
from typing import Literal, Protocol, TypeAlias

from penstock import _core
from penstock._core import InflatedPiece

HEAD_BYTES = 1 << 19
"""Bytes at the start of a file that :func:`detect` needs: enough for a whole SNAPPY block."""
CERTAIN_BYTES = 12
"""Bytes that are usually enough, see :func:`is_certain`: a frame's header."""
_GZIP = b"\x1f\x8b\x08"


def detect(head: bytes) -> Compression:
    """Return the compression of a stream that starts with ``head``; plain if nothing else fits."""
    # Plain first: a header with a valid checksum is more certain than any magic number.
    if starts_plain(head):
        return ""
    if head.startswith(_GZIP):
        return "GZIP"
    if _is_snappy(head):
        return "SNAPPY"
    if is_zlib_header(head):
        return "ZLIB"
    return ""


def is_certain(head: bytes | bytearray) -> bool:
    """Return whether these few bytes show the compression, so that :func:`detect` needs no more."""
    return starts_plain(head) or head.startswith(_GZIP)


def starts_plain(head: bytes | bytearray) -> bool:
    """Return whether the first bytes are a frame header with a valid checksum."""
    return len(head) >= CERTAIN_BYTES and _core.find_header(head[:CERTAIN_BYTES]) == 0


def starts_records(head: bytes) -> bool:
    """Return whether the first bytes, some thousands of them, are records, plain or in gzip."""
    if head.startswith(_GZIP):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, CERTAIN_BYTES)
        except zlib.error:
            return False
    return starts_plain(head)


def is_zlib_header(head: bytes) -> bool:
    """Return whether two bytes are the start of a zlib stream: deflate, a window of at most 32 KiB, a valid check."""
    return len(head) >= 2 and head[0] & 0x0F == 8 and head[0] >> 4 <= 7 and int.from_bytes(head[:2], "big") % 31 == 0


def inflates(head: bytes) -> bool:
    """Return whether the bytes after a zlib header inflate."""
    try:
        zlib.decompressobj().decompress(head, 1)
    except zlib.error:
        return False
    return True


def _is_snappy(head: bytes) -> bool:
    """Return whether the first block inflates to a valid frame header: SNAPPY has no magic number."""
    size = int.from_bytes(head[:4], "big")
    if not 0 < size <= len(head) - 4:
        return False
    try:
        from penstock.compression.snappy import decompress_block

        return starts_plain(decompress_block(head[4 : 4 + size]))
    except (ValueError, ImportError):  # not SNAPPY, or its extra is not installed
        return False


def by_extension(path: str) -> Compression:
    """Return the compression that the extension of a file stands for."""
    name = path.lower()
    return next((kind for kind, extensions in EXTENSIONS.items() if name.endswith(extensions)), "")


Compression: TypeAlias = Literal["", "GZIP", "ZLIB", "SNAPPY"]
KINDS: tuple[Compression, ...] = ("", "GZIP", "ZLIB", "SNAPPY")
EXTENSIONS: dict[Compression, tuple[str, ...]] = {
    "GZIP": (".gz", ".gzip"),
    "ZLIB": (".zlib", ".zz"),
    "SNAPPY": (".snappy",),
}
"""The extensions of compressed files; the first one is written."""
Trailing: TypeAlias = Literal["error", "zeros", "ignore"]
"""What may follow a compressed stream: nothing, zero padding, or anything."""
Plain: TypeAlias = bytes | InflatedPiece
"""A piece of an uncompressed stream."""


class Compressor(Protocol):
    """Compresses framed records; returns the bytes that are ready, in order."""

    def encode(self, framed: bytes, records: int) -> list[bytes]:
        """Take whole frames."""

    def flush(self) -> list[bytes]:
        """Return bytes that make everything so far readable."""

    def finish(self) -> list[bytes]:
        """Return the end of the stream."""
