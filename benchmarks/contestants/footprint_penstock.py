"""Streams a file and tells what memory that took."""

from __future__ import annotations

import resource

import penstock as ps


def chunks(path: str) -> int:
    """Go through all chunks; answer the process's peak of resident memory so far, in bytes."""
    for _ in ps.RecordReader(path).chunks():
        pass
    return _peak()


def payloads(path: str) -> int:
    """Go through all payloads; answer the process's peak of resident memory so far, in bytes."""
    for _ in ps.RecordReader(path):
        pass
    return _peak()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
