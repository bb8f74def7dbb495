"""What a contestant's own process has cost, for contestants of every environment."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any


def peak_memory() -> int:
    """The process's peak of resident memory so far, in bytes."""
    # Not getrusage: its peak survives exec, so that it starts from the memory of whoever started this process.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def core_share(batches: Iterable[Any], steps: int, step_seconds: float) -> float:
    """The share of one core that the process takes while a device works for so long on each batch.

    The device is a sleep: what is left is what the data costs, on all threads.
    """
    batches = iter(batches)
    next(batches)  # set-up is not what is asked for
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in islice(batches, steps):
        time.sleep(step_seconds)
    return (time.process_time() - cpu) / (time.perf_counter() - wall)
