"""Finds restart points: places in anybody's gzip or zlib file from which it can be inflated.

A point is where a deflate block starts. The block may refer to the 32 KiB before it, its window, so that these are
stored with the point: only the bytes that are referred to, deflated. There is a point about every MiB of the
uncompressed stream, where blocks end, as long as the windows have at most a sixteenth of the size of the file.
"""

from __future__ import annotations

from penstock import _core
from penstock.compression.byte_source import ByteSource
from penstock.compression.gzip import deflate

SPACING = 1 << 20
WINDOW_BYTES = 1 << 15
# Compressed bytes after a point that show which bytes of the window are used.
_ENOUGH_INPUT = 40 << 10
_LEVEL = 1


def most_window_bytes(size: int) -> int:
    """Return the limit of the windows of a file, or of its first bytes, as they are stored."""
    return (size >> 4) + WINDOW_BYTES


class RestartFinder:
    """Collects the restart points of a file that is inflated from its start to its end."""

    def __init__(self) -> None:
        self.bits: list[int] = []
        """Where each point is in the file, in bits."""
        self.offsets: list[int] = []
        """Where it is in the uncompressed stream."""
        self.windows: list[bytes] = []
        """Its window, deflated; empty if nothing refers to it."""
        self._stored = 0
        self._start = 0
        """The byte of the file where the deflate data starts."""
        self._due = 0

    def begin(self, source: ByteSource) -> None:
        self._start = source.position
        if self.is_due(source):
            self._add(self._start * 8, source.inflated, b"")

    def is_due(self, source: ByteSource) -> bool:
        return source.inflated >= self._due

    def see_block(self, source: ByteSource, inflater: _core.StreamInflater, data: memoryview) -> None:
        decoded = inflater.decoded_bits
        ahead = source.position - self._start - decoded // 8
        # Late in the latest input, the next block will do, unless blocks are so far apart that no other one comes.
        if ahead > len(data) or (ahead < _ENOUGH_INPUT and source.inflated < self._due + SPACING):
            return
        used = _core.used_window(data[len(data) - ahead :], decoded % 8, inflater.window)
        window = deflate(used, _LEVEL) if used else b""
        if self._stored + len(window) > most_window_bytes(source.position):
            self._due = source.inflated + SPACING
        else:
            self._add(self._start * 8 + decoded, source.inflated, window)

    def _add(self, bits: int, offset: int, window: bytes) -> None:
        self.bits.append(bits)
        self.offsets.append(offset)
        self.windows.append(window)
        self._stored += len(window)
        self._due = offset + SPACING
