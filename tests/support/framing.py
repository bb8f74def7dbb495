"""TFRecord frames made by hand, independent of the code under test, so that every byte of them can be damaged."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import cramjam


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = [_table_entry(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def header(length: int) -> bytes:
    """The 12 bytes that announce a payload, whose checksum is right whatever the length."""
    word = struct.pack("<Q", length)
    return word + struct.pack("<I", masked_crc(word))


def frame(payload: bytes) -> bytes:
    return header(len(payload)) + payload + struct.pack("<I", masked_crc(payload))


def frames(payloads: Iterable[bytes]) -> bytes:
    return b"".join(map(frame, payloads))


def flip(data: bytes, position: int, mask: int = 1) -> bytes:
    """Change bits of one byte."""
    return data[:position] + bytes([data[position] ^ mask]) + data[position + 1 :]


def snappy_block(plain: bytes) -> bytes:
    """A block as TensorFlow frames SNAPPY."""
    packed = bytes(cramjam.snappy.compress_raw(plain))
    return struct.pack(">I", len(packed)) + packed
