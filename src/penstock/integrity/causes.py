"""Names what happened to a damaged place, as far as the bytes there tell."""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.compression import detect
from penstock.errors import CorruptDataError
from penstock.files import FileStore, locate

Cause: TypeAlias = Literal[
    "bit rot",
    "truncated",
    "missing",
    "torn tail",
    "zero-filled block",
    "wrong compression",
    "not a TFRecord",
    "too large",
    "in doubt",
    "other",
]

# The smallest piece that disks and file systems lose.
_SECTOR = 512
# So many bytes tell a gzip or zlib stream.
_HEAD = 64
# Of a damaged place, so many bytes are looked at.
_LOOK = 1 << 20


def cause_of(error: CorruptDataError) -> Cause:
    """Answer what most likely happened."""
    match error.kind:
        case "truncated-header" | "truncated-record":
            return "torn tail"
        case "truncated-stream" | "empty":
            return "truncated"
        case "missing":
            return "missing"
        case "too-large":
            return "too large"
        case "doubtful":
            return "in doubt"
        case "trailing-bytes" | "changed":
            return "other"
    if error.compression is not None:
        return "wrong compression"
    if error.seems and error.kind in ("length-crc", "inflate"):
        return "not a TFRecord"
    return "zero-filled block" if _holds_zero_sector(error) else "bit rot"


def _holds_zero_sector(error: CorruptDataError) -> bool:
    """Whether a plain file has a sector of zeros in the damaged place, or all of the place is zeros."""
    if error.path is None or error.path == "-" or error.offset is None or error.stop is None:
        return False
    store, path = locate(error.path)
    try:
        if _is_compressed(store, path):
            return False
        data = store.read(path, error.offset, min(error.stop, error.offset + _LOOK))
    except OSError:
        return False
    if not any(data[:12]) and len(data) >= 12:
        return True
    first = -error.offset % _SECTOR
    zeros = bytes(_SECTOR)
    return any(data[at : at + _SECTOR] == zeros for at in range(first, len(data) - _SECTOR + 1, _SECTOR))


def _is_compressed(store: FileStore, path: str) -> bool:
    return bool(detect(store.read(path, 0, _HEAD)))
