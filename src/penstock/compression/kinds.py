"""The words that name compressions and what may follow a compressed stream."""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock._core import PlainPiece

Compression: TypeAlias = Literal["", "GZIP", "ZLIB", "SNAPPY"]

KINDS: tuple[Compression, ...] = ("", "GZIP", "ZLIB", "SNAPPY")

Trailing: TypeAlias = Literal["error", "zeros", "ignore"]
"""What may follow a compressed stream: nothing, zero padding, or anything."""

Plain: TypeAlias = bytes | PlainPiece
"""A piece of an uncompressed stream."""
