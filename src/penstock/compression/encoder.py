"""What a compressor of framed records does."""

from __future__ import annotations

from typing import Protocol


class Encoder(Protocol):
    """Compresses framed records; answers the bytes that are ready, in order."""

    def encode(self, framed: bytes, records: int) -> list[bytes]:
        """Take whole frames."""

    def flush(self) -> list[bytes]:
        """Answer bytes that make everything so far readable."""

    def finish(self) -> list[bytes]:
        """Answer the end of the stream."""
