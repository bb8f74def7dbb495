"""ZLIB as TensorFlow reads it: one stream from the first record to the last."""

from __future__ import annotations

import zlib

from isal import isal_zlib


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
