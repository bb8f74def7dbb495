"""Compressed streams of records: GZIP, ZLIB and SNAPPY as TensorFlow writes them.

:func:`detect` goes by content, :func:`by_extension` by name; :func:`inflate` turns compressed pieces into plain ones,
:func:`open_compressor` the reverse. Implementations are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from penstock.compression.byte_source import PointFinder
from penstock.compression.detect import KINDS, Compression, Compressor, Plain, Trailing, by_extension, detect

__all__ = [
    "KINDS",
    "Compression",
    "Compressor",
    "Plain",
    "PointFinder",
    "Trailing",
    "by_extension",
    "check",
    "check_level",
    "check_or_auto",
    "detect",
    "inflate",
    "open_compressor",
]


def check(kind: str | None) -> Compression:
    """Return ``kind`` if it names a compression, "" for None; raise otherwise: TensorFlow would read it as plain."""
    if kind is None:
        return ""
    for known in KINDS:
        if kind == known:
            return known
    hint = f"; did you mean {str(kind).upper()!r}?" if str(kind).upper() in KINDS else ""
    raise ValueError(f"compression must be one of 'GZIP', 'ZLIB', 'SNAPPY' or '' (none), not {kind!r}{hint}")


def check_or_auto(kind: str | None) -> Compression | None:
    """Return the compression that a user names; None for ``"auto"``, which detects it from the content."""
    return None if kind == "auto" else check(kind)


def inflate(
    kind: Compression,
    pieces: Iterable[bytes],
    *,
    path: str,
    trailing: Trailing = "error",
    multistream: bool = False,
    threads: int | None = None,
    finder: PointFinder | None = None,
) -> Iterator[Plain]:
    """Decompress a stream in pieces; bytes before damage are yielded before the error is raised.

    Gzip members of Penstock are inflated on ``threads``, by default one per CPU. ``finder`` is shown the blocks of gzip
    and zlib streams.
    """
    if kind == "":
        return iter(pieces)
    if kind == "SNAPPY":
        from penstock.compression.snappy import inflate_snappy

        return inflate_snappy(pieces, path)
    from penstock.compression.gzip import inflate_gzip
    from penstock.compression.zlib import inflate_zlib

    if kind == "GZIP":
        return inflate_gzip(pieces, path, trailing, threads, finder)
    return inflate_zlib(pieces, path, trailing, multistream, finder)


def check_level(level: int) -> None:
    """Raise unless a level of compression is from 0 to 9."""
    if level not in range(10):
        raise ValueError(f"level must be from 0 to 9, not {level!r}")


def open_compressor(kind: Literal["GZIP", "ZLIB", "SNAPPY"], level: int, threads: int | None = None) -> Compressor:
    """Return a compressor. That of gzip has threads, by default one per CPU."""
    if kind == "GZIP":
        from penstock.compression.gzip import GzipCompressor

        return GzipCompressor(level, threads)
    if kind == "ZLIB":
        from penstock.compression.zlib import ZlibCompressor

        return ZlibCompressor(level)
    from penstock.compression.snappy import SnappyCompressor

    return SnappyCompressor()
