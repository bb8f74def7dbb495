"""Run a function over many files on threads, with progress; count the CPUs there are for it."""

from __future__ import annotations

import math
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from penstock.progress import ProgressBar

T = TypeVar("T")
R = TypeVar("R")

_SIGNAL_CHECK_SECONDS = 0.2


# Ranks of a job on this host, as their launchers announce them: torchrun, Slurm, Open MPI, MPICH and Intel MPI.
_LOCAL_RANKS = (
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_NTASKS_PER_NODE",
)


def available_cpus() -> int:
    """Return the number of CPUs that are there for this process, at least 1.

    A cluster may bind a process to some of the machine's CPUs, or limit its time to that of a few. Where the ranks of
    a job share the CPUs, each has its part; so has each worker process of a torch ``DataLoader``.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cpus = min(bound, cgroup_cpus() or bound)
    ranks = local_ranks()
    # Ranks that are bound to CPUs of their own, a part of the machine's, do not share them.
    if ranks > 1 and bound * ranks > (os.cpu_count() or bound):
        cpus //= ranks
    return max(1, cpus // loader_workers())


def local_ranks() -> int:
    """Return how many processes of a distributed job run on this host, as its launcher announces it; 1 without one."""
    for name in _LOCAL_RANKS:
        # Slurm lists nodes: "8", "8(x2)", "8,4". All but the last node have as many as the first.
        if found := re.match(r"[1-9]\d*", os.environ.get(name, "")):
            return int(found[0])
    return 1


def loader_workers() -> int:
    """Return how many worker processes the torch ``DataLoader`` has that this process works for; 1 if it does not."""
    data: Any = sys.modules.get("torch.utils.data")
    worker = data.get_worker_info() if data is not None else None
    return 1 if worker is None else int(worker.num_workers)


@cache
def cgroup_cpus(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the CPUs whose time the process may use by the quotas of its control groups; None without a quota.

    Args:
        proc: The file that lists the groups of the process.
        root: Where they are mounted, of version 1 or 2.
    """
    quotas: list[float] = []
    for line in _read(proc).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        # In a container, the path may be the host's; the group is then mounted at the root. Every group above counts.
        mount = root / controllers
        group = mount / path.lstrip("/")
        for folder in (group, *group.parents):
            quotas += _quota(folder)
            if folder == mount:
                break
    return max(1, math.ceil(min(quotas))) if quotas else None


def _quota(group: Path) -> list[float]:
    """Return the quota of one control group, in CPUs; an empty list if it has none."""
    words = _read(group / "cpu.max").split() or [
        *_read(group / "cpu.cfs_quota_us").split(),
        *_read(group / "cpu.cfs_period_us").split(),
    ]
    if len(words) != 2 or not words[0].isdecimal() or not words[1].isdecimal():
        return []  # "max", -1, or no such file
    return [int(words[0]) / int(words[1])]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def jobs_for(files: int, jobs: int | None) -> int:
    """Return how many files to process at once: ``jobs``, or one per CPU, but no more than there are files."""
    return max(1, min(files, jobs or available_cpus()))


class FileProgress:
    """Reports progress of the work on several files. Thread-safe."""

    def __init__(self, bar: ProgressBar) -> None:
        self._bar = bar
        self._lock = threading.Lock()
        self._records = 0

    def advance(self, files: float = 0, records: int = 0) -> None:
        """Add to the files, or parts of a file, and to the records that are done."""
        with self._lock:
            self._records += records
            note = f"{self._records:,} records" if self._records else ""
        self._bar.advance(files, note)


def on_each_file(
    files: Sequence[T], function: Callable[[T, FileProgress], R], *, jobs: int, title: str, show: bool = True
) -> list[R]:
    """Call a function on every file, ``jobs`` at a time, and return the results in order.

    ``KeyboardInterrupt`` is raised at once: threads that are deep in a slow read finish it in the background.

    Args:
        files: What the function is called with.
        function: Called with one of the files, and with what it reports its progress to.
        jobs: Threads.
        title: The title of the progress bar on standard error.
        show: Whether to show that bar.
    """
    if not files:
        return []
    # Imported here: it is slow to import, and reading one file does without.
    from concurrent.futures import ThreadPoolExecutor, wait

    pool = ThreadPoolExecutor(jobs, thread_name_prefix="penstock-files")
    try:
        with ProgressBar(title, len(files), "files", show=show) as bar:
            progress = FileProgress(bar)
            futures = [pool.submit(function, file, progress) for file in files]
            # A signal that arrives right before a wait does not end it: Python checks for signals between short waits.
            while wait(futures, _SIGNAL_CHECK_SECONDS).not_done:
                pass
            return [future.result() for future in futures]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
