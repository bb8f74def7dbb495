"""Encodes tf.train.Example and SequenceExample: just enough of the protobuf wire format to make test data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np


def varint(value: int) -> bytes:
    value &= 0xFFFF_FFFF_FFFF_FFFF  # negative numbers take ten bytes
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(field: int, body: bytes) -> bytes:
    """A field that holds a message, a string, bytes or packed numbers."""
    return varint(field << 3 | 2) + varint(len(body)) + body


def bytes_feature(value: bytes) -> bytes:
    return message(1, message(1, value))


def float_feature(values: np.ndarray) -> bytes:
    return message(2, message(1, values.astype("<f4").tobytes()))


def int64_feature(values: Iterable[int]) -> bytes:
    return message(3, message(1, b"".join(map(varint, values))))


def example(features: Mapping[str, bytes]) -> bytes:
    return message(1, _entries(features))


def sequence_example(context: Mapping[str, bytes], lists: Mapping[str, Iterable[bytes]]) -> bytes:
    steps = {name: b"".join(message(1, feature) for feature in features) for name, features in lists.items()}
    return message(1, _entries(context)) + message(2, _entries(steps))


def _entries(features: Mapping[str, bytes]) -> bytes:
    """A protobuf map: one message of key and value per entry."""
    return b"".join(message(1, message(1, name.encode()) + message(2, value)) for name, value in features.items())
