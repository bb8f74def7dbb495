"""PNG files of every kind, made by hand, for Pillow does not write all of them."""

from __future__ import annotations

import struct
import zlib

GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGBA: 4}


def png(
    width: int,
    height: int,
    pixels: bytes,
    *,
    depth: int = 8,
    color: int = GRAY,
    chunks: dict[bytes, bytes] | None = None,
) -> bytes:
    """A PNG file of rows of samples (each row begins at a whole byte), with more chunks before the pixels."""
    stride = -(-width * CHANNELS[color] * depth // 8)
    rows = b"".join(b"\0" + pixels[stride * y : stride * (y + 1)] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    body = [(b"IHDR", header), *(chunks or {}).items(), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in body)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
