"""Finds the files that were asked for and works on several at once, with a progress bar on a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

import click

from penstock.cli.problems import Problem, problem_of
from penstock.discovery.resolve import resolve_files
from penstock.parallel import FileProgress, on_each_file
from penstock.storage import is_folder, locate

T = TypeVar("T")
R = TypeVar("R")


def expand(paths: Iterable[str]) -> list[str | Problem]:
    """The files that PATH... names, in order; a problem stands where a path names none.

    A dataset that goes by its name or its manifest stands for its shards.
    """
    paths = list(paths)
    if paths.count("-") > 1:
        raise click.UsageError("Standard input flows by once: name - once.")
    files = resolve_files(paths).files
    return [file.path if file.error is None else problem_of(file.path, file.error) for file in files]


def names_folder(path: str) -> bool:
    """Whether a path is a directory that can be looked at."""
    with suppress(OSError):
        return is_folder(*locate(path))
    return False


def on_each(files: Sequence[T], work: Callable[[T, FileProgress], R], *, jobs: int, title: str) -> list[R]:
    """Return what ``work`` makes of every file, as :func:`penstock.parallel.on_each_file`; Ctrl-C ends the process."""
    try:
        return on_each_file(files, work, jobs=jobs, title=title)
    except KeyboardInterrupt:
        # Threads may be deep in a slow read that nothing interrupts. They only read: nothing is lost by leaving.
        click.echo("Aborted!", err=True)
        os._exit(130)
