"""ZLIB as TensorFlow reads it: one stream from the first record to the last."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from isal import isal_zlib

from penstock.compression.byte_source import ByteSource, PointFinder, _inflate_body
from penstock.compression.detect import Plain, Trailing, is_zlib_header
from penstock.compression.gzip import judge_trailing


class ZlibCompressor:
    """Compresses to one zlib stream: TensorFlow does not read a second one."""

    def __init__(self, level: int) -> None:
        module = isal_zlib if level <= 3 else zlib
        self._compressor = module.compressobj(level, zlib.DEFLATED, 15)

    def encode(self, framed: bytes, records: int) -> list[bytes]:
        return [self._compressor.compress(framed)]

    def flush(self) -> list[bytes]:
        return [self._compressor.flush(zlib.Z_SYNC_FLUSH)]

    def finish(self) -> list[bytes]:
        return [self._compressor.flush()]


def inflate_zlib(
    pieces: Iterable[bytes], path: str, trailing: Trailing, multistream: bool, finder: PointFinder | None = None
) -> Iterator[Plain]:
    """Inflate a zlib stream, and with ``multistream`` those after it."""
    source = ByteSource(pieces, path)
    source.finder = finder
    first = True
    while not source.at_end():
        header = source.peek(2)
        if not is_zlib_header(header):
            return judge_trailing(source, trailing, first, "zlib")
        if not first and not multistream:
            if trailing == "ignore":
                return
            raise source.error(
                "a second zlib stream follows the first (TensorFlow drops it silently); read it with multistream=True",
                "trailing-bytes",
            )
        if header[1] & 0x20:
            raise source.error("the zlib stream needs a preset dictionary")
        source.take(2)
        yield from _inflate_body(source, isal_zlib.adler32, 1)  # three times as fast as zlib's
        if int.from_bytes(source.take(4), "big") != source.checksum:
            raise source.checksum_error()
        first = False
