"""How many CPUs there are to work with."""

from __future__ import annotations

import os


def available_cpus() -> int:
    """Count the CPUs that this process may run on: a job of a cluster is given a few of a large machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
