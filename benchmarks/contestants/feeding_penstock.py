"""Penstock: batches of 256, ahead of a consumer."""

from __future__ import annotations

from decoded import schema_of
from process_costs import core_share, peak_memory

import penstock as ps


def memory(path: str, workload: str) -> int:
    """Stream a file twice; return the process's peak of resident memory."""
    ds = _dataset(path, workload).batch(256)
    for _ in range(2):
        for _batch in ds:
            pass
    return peak_memory()


def overhead(path: str, workload: str, steps: int, step_seconds: float) -> float:
    """Feed a device that is slower than the data; return the share of one core that this takes."""
    return core_share(_dataset(path, workload).shuffle(seed=7).repeat().batch(256).prefetch(2), steps, step_seconds)


def _dataset(path: str, workload: str) -> ps.Dataset:
    return ps.Dataset(path, schema=schema_of(workload))
