"""The package tfrecord: reads in pure Python and verifies no checksum."""

from __future__ import annotations

from collections.abc import Iterable

import tfrecord


def iterate(path: str) -> Iterable[memoryview]:
    return tfrecord.tfrecord_iterator(path)
