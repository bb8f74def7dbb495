"""Names what happened to a damaged place, as far as the bytes there tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock import _core
from penstock.compression import detect
from penstock.errors import CorruptDataError
from penstock.storage import FileStore, locate

Cause: TypeAlias = Literal[
    "bit rot",
    "missing bytes",
    "appended bytes",
    "overwritten, missing or extra bytes",
    "copied as text",
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
# A transfer in text mode changes all of a file: so much from the place on shows it.
_LOOK_AROUND = 64 << 10
# With so many wrong bits, a length is still what it was.
_FEW_BITS = 2
# So many line ends that are all CRLF are no chance: fewer than one place in 2**32.
_MANY_LINES = 4


def cause_of(error: CorruptDataError) -> Cause:
    """Return what most likely happened."""
    match error.kind:
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
    place = _Place.of(error)
    if error.kind in ("truncated-header", "truncated-record"):
        # Where a record follows, the file does not end there: its header claims bytes that are gone.
        return "torn tail" if place is None or place.stop == place.file_size else "missing bytes"
    return "bit rot" if place is None else place.cause()


@dataclass(frozen=True)
class _Place:
    """A damaged place of a plain file: from where a record is due to where the next whole one starts."""

    start: int
    stop: int
    file_size: int
    data: bytes
    """What stands there, as far as it is looked at."""
    around: bytes
    """The same, and some of what follows."""

    @classmethod
    def of(cls, error: CorruptDataError) -> _Place | None:
        """Read the place; None where it is not known, or not as it is stored."""
        if error.path is None or error.path == "-" or error.offset is None or error.stop is None:
            return None
        store, path = locate(error.path)
        try:
            size = store.stat(path).size
            if size is None or _is_compressed(store, path):
                return None
            near = max(error.stop, min(size, error.offset + _LOOK_AROUND))
            data = store.read(path, error.offset, min(near, error.offset + _LOOK))
        except OSError:
            return None
        return cls(error.offset, error.stop, size, data[: error.stop - error.offset], data)

    def cause(self) -> Cause:
        if self._is_text_copy():
            return "copied as text"
        if self._holds_zero_sector():
            return "zero-filled block"
        payload_bytes = self.stop - self.start - 16
        length = int.from_bytes(self.data[:8], "little")
        if payload_bytes >= 0 and (length ^ payload_bytes).bit_count() <= _FEW_BITS:
            return "bit rot"  # the record is as long as it was
        if self._header_is_sound():
            return "missing bytes" if length > payload_bytes else "overwritten, missing or extra bytes"
        if self._payload_is_sound():
            return "bit rot"
        return "appended bytes" if self.stop == self.file_size else "overwritten, missing or extra bytes"

    def _header_is_sound(self) -> bool:
        return len(self.data) >= 12 and _masked_crc(self.data[:8]) == self.data[8:12]

    def _payload_is_sound(self) -> bool:
        whole = len(self.data) == self.stop - self.start >= 16
        return whole and _masked_crc(self.data[12:-4]) == self.data[-4:]

    def _is_text_copy(self) -> bool:
        """Whether every line feed follows a carriage return, as a transfer in text mode leaves them."""
        lines = self.around.count(b"\n")
        return lines >= _MANY_LINES and self.around.count(b"\r\n") == lines

    def _holds_zero_sector(self) -> bool:
        """Whether there is a sector of zeros in the place, or zeros stand where a header is due."""
        if not any(self.data[:12]) and len(self.data) >= 12:
            return True
        first = -self.start % _SECTOR
        zeros = bytes(_SECTOR)
        starts = range(first, len(self.data) - _SECTOR + 1, _SECTOR)
        return any(self.data[at : at + _SECTOR] == zeros for at in starts)


def _masked_crc(data: bytes) -> bytes:
    """Return the checksum of some bytes as a frame stores it."""
    crc = _core.crc32c(data)
    return ((((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def _is_compressed(store: FileStore, path: str) -> bool:
    return bool(detect(store.read(path, 0, _HEAD)))
