"""Streams a file and tells what memory that took."""

from __future__ import annotations

from pathlib import Path

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
    # Not getrusage: its peak survives exec, so that it starts from the memory of whoever started this process.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
