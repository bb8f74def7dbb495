"""Finds the files that were asked for and works on several at once, with a progress bar on a terminal."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

import click

from penstock.cli.manifests import manifest_of, shards_of
from penstock.cli.problems import Problem, is_expected, problem_of
from penstock.parallel import available_cpus
from penstock.progress import ProgressBar
from penstock.storage import find_files, is_folder, locate

T = TypeVar("T")
R = TypeVar("R")

_SECONDS_UNHEARD = 0.2


class Ticker:
    """What the work on the files reports while it goes on. Thread-safe."""

    def __init__(self, bar: ProgressBar) -> None:
        self._bar = bar
        self._lock = threading.Lock()
        self._records = 0

    def advance(self, files: float = 0, records: int = 0) -> None:
        """Note that a part of a file is done."""
        with self._lock:
            self._records += records
            note = f"{self._records:,} records" if self._records else ""
        self._bar.advance(files, note)


def expand(paths: Iterable[str]) -> list[str | Problem]:
    """The files that PATH... names, in order; a problem stands where a path names none.

    A dataset that goes by its name or its manifest stands for its shards.
    """
    found: list[str | Problem] = []
    for path in paths:
        if path == "-" and path in found:
            raise click.UsageError("Standard input flows by once: name - once.")
        unreadable: list[OSError] = []
        try:
            manifest = manifest_of(path)
            found += (
                find_files([path], unreadable=unreadable.append) if manifest is None else expand(shards_of(manifest))
            )
        except Exception as error:
            if not is_expected(path, error):
                raise
            if not unreadable:  # which is why nothing was found
                found.append(problem_of(path, error))
        found += [problem_of(path, error) for error in unreadable]
    return found


def names_folder(path: str) -> bool:
    """Whether a path is a directory that can be looked at."""
    with suppress(OSError):
        return is_folder(*locate(path))
    return False


def on_each(files: list[T], work: Callable[[T, Ticker], R], *, jobs: int, title: str) -> list[R]:
    """Return what ``work`` makes of every file, ``jobs`` at a time, behind a progress bar on standard error."""
    if not files:
        return []
    with (
        ProgressBar(title, len(files), "files") as bar,
        ThreadPoolExecutor(jobs, thread_name_prefix="penstock-cli") as pool,
    ):
        ticker = Ticker(bar)
        try:
            futures = [pool.submit(work, file, ticker) for file in files]
            # A signal that comes in the moment before a wait does not end it: Python looks for it between short ones.
            while wait(futures, _SECONDS_UNHEARD).not_done:
                pass
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            # Threads may be deep in a slow read that nothing interrupts. They only read: nothing is lost by leaving.
            bar.close()
            click.echo("Aborted!", err=True)
            os._exit(130)


def jobs_for(files: int, wanted: int | None) -> int:
    """How many files to read at once."""
    return max(1, min(files, wanted or available_cpus()))
