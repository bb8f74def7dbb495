"""Run a function over many files on threads, with progress; count the CPUs there are for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from penstock.progress import ProgressBar

T = TypeVar("T")
R = TypeVar("R")

_SIGNAL_CHECK_SECONDS = 0.2


def available_cpus() -> int:
    """Return the number of CPUs that this process may run on, which a cluster may limit to a few of the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
