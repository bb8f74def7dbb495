"""Integers in few bytes: the least is taken off, what is left is cut into planes of bytes, and these are deflated.

The lengths of records are alike: their higher bytes are few values in long rows, which deflate well, and equal lengths
need no bytes at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock.compression.members import deflate
from penstock.errors import IndexFileError
from penstock.index.lengths import Uint64s

_LEVEL = 2


def pack(values: Uint64s) -> tuple[dict[str, Any], bytes]:
    """Answer what the head of an index file says of these values, and the bytes that hold them."""
    base = int(values.min()) if len(values) else 0
    rest = (values - np.uint64(base)).astype("<u8")
    width = (int(rest.max()).bit_length() + 7) // 8 if len(values) else 0
    planes = np.ascontiguousarray(rest.view(np.uint8).reshape(-1, 8)[:, :width].T)
    body = deflate(planes.tobytes(), _LEVEL) if width else b""
    crc = _core.crc32c(body)
    return {"count": len(values), "base": base, "width": width, "bytes": len(body), "crc32c": f"{crc:08x}"}, body


def unpack(head: object, body: bytes, most: int) -> Uint64s:
    """Answer the values again; ``most`` is how many there can be. Nothing larger than they are is allocated."""
    count, base, width = (number(head, key) for key in ("count", "base", "width"))
    if count > most or width > 8 or base >= 1 << 62:
        raise IndexFileError(f"it claims {count} numbers of {width} bytes, which cannot be")
    assert isinstance(head, dict)
    if head.get("crc32c") != f"{_core.crc32c(body):08x}":
        raise IndexFileError("a checksum does not match")
    if not width:
        return np.broadcast_to(np.uint64(base), count)
    # Inflated before the values are allocated: what is there is bounded, what is claimed is not.
    planes = np.frombuffer(_inflate(body, count * width), np.uint8).reshape(width, count)
    values = np.full(count, base, np.uint64)
    for place, plane in enumerate(planes):
        values += plane.astype(np.uint64) << np.uint64(8 * place)
    if count and values.max() >= 1 << 62:
        raise IndexFileError("a number is too large")
    return values


def number(head: object, key: str) -> int:
    """Answer a number of an object in JSON, which may hold anything."""
    value = head.get(key) if isinstance(head, dict) else None
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise IndexFileError(f'"{key}" is an integer of 0 or more')
    return value


def _inflate(body: bytes, size: int) -> bytes:
    """Inflate what must come to ``size`` bytes; little more than these is ever there."""
    inflater, pieces, left = _core.StreamInflater(), [], size
    inflater.feed(body)
    while left >= 0 and not (inflater.done or inflater.damaged or inflater.needs_input):
        pieces.append(inflater.next())
        left -= len(pieces[-1])
    if left or not inflater.done or inflater.unread:
        raise IndexFileError("its numbers cannot be inflated, or are not as many as it says")
    return b"".join(pieces)
