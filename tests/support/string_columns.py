"""Builds columns of strings by hand, from the layout alone."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from penstock.columns import BytesColumn


def view_of(value: bytes, buffer: int = 0, offset: int = 0) -> bytes:
    if len(value) <= 12:
        return struct.pack("<i12s", len(value), value)
    return struct.pack("<i4sii", len(value), value[:4], buffer, offset)


def strings(values: Sequence[str | bytes], *, shape: tuple[int, ...] = (), rows: int | None = None) -> BytesColumn:
    """Lay values out in two buffers in turn, with gaps between them, as payloads lie in frames."""
    buffers = [bytearray(b"gap"), bytearray(b"another gap")]
    views = b""
    for number, value in enumerate(values):
        data = value.encode() if isinstance(value, str) else value
        buffer = number % 2
        views += view_of(data, buffer, len(buffers[buffer]))
        if len(data) > 12:
            buffers[buffer] += data + b"gap"
    text = bool(values) and isinstance(values[0], str)
    arrays = [np.frombuffer(bytes(buffer), np.uint8) for buffer in buffers]
    return BytesColumn(np.frombuffer(views, np.int32).reshape(-1, 4), arrays, text=text, shape=shape, rows=rows)


def stray_views() -> dict[str, bytes]:
    """Views that no buffer of 32 bytes can satisfy."""
    return {
        "offset after the end": struct.pack("<i4sii", 13, b"", 0, 20),
        "offset far after": struct.pack("<i4sii", 13, b"", 0, 2**31 - 1),
        "length beyond the end": struct.pack("<i4sii", 33, b"", 0, 0),
        "huge length": struct.pack("<i4sii", 2**31 - 1, b"", 0, 2**31 - 1),
        "negative length": struct.pack("<i4sii", -1, b"", 0, 0),
        "negative offset": struct.pack("<i4sii", 13, b"", 0, -1),
        "no such buffer": struct.pack("<i4sii", 13, b"", 1, 0),
        "negative buffer": struct.pack("<i4sii", 13, b"", -1, 0),
    }
