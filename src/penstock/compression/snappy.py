"""SNAPPY as TensorFlow frames it: blocks of at most 256 KiB, each after its compressed length, big-endian."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.compression.byte_source import ByteSource
from penstock.errors import import_extra

BLOCK_BYTES = 256 << 10
# The largest compressed size of such a block, if it does not compress (the bound of the format).
_MOST_COMPRESSED = 32 + BLOCK_BYTES + BLOCK_BYTES // 6


def inflate_snappy(pieces: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Decompress block by block; a block that is cut short or grows beyond 256 KiB is an error."""
    source = ByteSource(pieces, path)
    while not source.at_end():
        size = int.from_bytes(source.take(4), "big")
        if size > _MOST_COMPRESSED:
            raise source.error(f"a SNAPPY block claims {size} bytes, more than a block of 256 KiB can have")
        try:
            plain = decompress_block(source.take(size))
        except ValueError as error:
            raise source.error(f"a SNAPPY block cannot be decompressed ({error})") from None
        source.inflated += len(plain)
        if plain:
            yield plain


def decompress_block(block: bytes) -> bytes:
    """Decompress one raw block; raise ValueError if it is damaged or too large."""
    snappy = import_extra("cramjam", "snappy", "SNAPPY compression").snappy
    try:
        # The block starts with its size, which is compared with the limit before anything is allocated.
        size = snappy.decompress_raw_len(block)
        if size > BLOCK_BYTES:
            raise ValueError(f"it grows to {size} bytes")
        return bytes(snappy.decompress_raw(block, output_len=size))
    except Exception as error:
        raise ValueError(str(error)) from None


class SnappyCompressor:
    """Compresses blocks."""

    def __init__(self) -> None:
        self._compress = import_extra("cramjam", "snappy", "SNAPPY compression").snappy.compress_raw

    def encode(self, framed: bytes, records: int) -> list[bytes]:
        blocks = []
        for start in range(0, len(framed), BLOCK_BYTES):
            block = bytes(self._compress(framed[start : start + BLOCK_BYTES]))
            blocks.append(len(block).to_bytes(4, "big") + block)
        return blocks

    def flush(self) -> list[bytes]:
        return []

    def finish(self) -> list[bytes]:
        return []
