"""What a compressor of framed records does, and the simplest one."""

from __future__ import annotations

import zlib
from typing import Protocol

from isal import isal_zlib


class Encoder(Protocol):
    """Compresses framed records; answers the bytes that are ready, in order."""

    def encode(self, framed: bytes, records: int) -> list[bytes]:
        """Take whole frames."""

    def flush(self) -> list[bytes]:
        """Answer bytes that make everything so far readable."""

    def finish(self) -> list[bytes]:
        """Answer the end of the stream."""


class ZlibEncoder:
    """One zlib stream: TensorFlow reads no second one."""

    def __init__(self, level: int) -> None:
        module = isal_zlib if level <= 3 else zlib
        self._compressor = module.compressobj(level, zlib.DEFLATED, 15)

    def encode(self, framed: bytes, records: int) -> list[bytes]:
        return [self._compressor.compress(framed)]

    def flush(self) -> list[bytes]:
        return [self._compressor.flush(zlib.Z_SYNC_FLUSH)]

    def finish(self) -> list[bytes]:
        return [self._compressor.flush()]
