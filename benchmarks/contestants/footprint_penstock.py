"""Streams a file and prints what memory that took."""

from __future__ import annotations

from process_costs import peak_memory

import penstock as ps


def chunks(path: str) -> int:
    """Go through all chunks; return the process's peak of resident memory so far, in bytes."""
    for _ in ps.RecordReader(path).chunks():
        pass
    return peak_memory()


def payloads(path: str) -> int:
    """Go through all payloads; return the process's peak of resident memory so far, in bytes."""
    for _ in ps.RecordReader(path):
        pass
    return peak_memory()
