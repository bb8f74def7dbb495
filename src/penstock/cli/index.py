"""``penstock index``: find where the records of files are, and store it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import click
from rich.text import Text

from penstock.cli.options import ReadingArguments, jobs_option, json_option, reading_options, renamed_option
from penstock.cli.output import complain, exit_with, plain_table, print_table, printable, usage_errors, write_json
from penstock.cli.problem_advice import advice_for
from penstock.discovery.resolve import ResolvedFile, is_file_error, resolve_files
from penstock.index import ShardIndex, open_index
from penstock.index.cache import path_in_cache, sidecar_path
from penstock.index.foreign_formats import SUFFIXES, to_text
from penstock.integrity.problems import Problem, problem_of
from penstock.integrity.report import size_text
from penstock.parallel import FileProgress, jobs_for, on_each_file
from penstock.records.read_options import IndexLocation
from penstock.storage import split_path, write_whole

_EXAMPLES = """\b
Examples:
  penstock index 'data/*.tfrecord'                  in the cache folder
  penstock index s3://bucket/train/ --sidecar       next to the data
  penstock index a.tfrecord --format dali -o a.idx  for NVIDIA DALI
  penstock index data/ --format tfindex             for the package tfrecord
"""


@dataclass(frozen=True)
class Indexed:
    """The index of one file."""

    path: str
    index: ShardIndex | None = None
    stored: str = ""
    """Where the index is; empty if nowhere."""
    problem: Problem | None = None

    def _document(self) -> dict[str, Any]:
        found = self.index
        return {
            "path": self.path,
            "records": found and found.records,
            "compression": found and found.compression,
            "seekable": found and found.seekable,
            "index": self.stored or None,
            "problem": self.problem and self.problem._document(advice_for),
        }


@click.command(epilog=_EXAMPLES)
@reading_options
@click.option(
    "--sidecar", is_flag=True, help="Store indexes as hidden files next to the data, not in the cache folder."
)
@renamed_option("--beside", "--sidecar", is_flag=True)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["penstock", *SUFFIXES]),
    default="penstock",
    show_default=True,
    help="The format of the index; dali and tfindex are the same text, for uncompressed files.",
)
@click.option(
    "--output", "-o", metavar="PATH", help="Where the index of dali or tfindex goes: a file, or a folder for several."
)
@jobs_option
@json_option
def index(
    paths: tuple[str, ...],
    reading: ReadingArguments,
    sidecar: bool,
    kind: str,
    output: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Find where the records of files are, for random access.

    An index is built once, and serves ds[i] and a true shuffle. It belongs to the content of a file: a copy or a moved
    file finds it again, a changed file does not.
    """
    if kind == "penstock" and output:
        raise click.UsageError(
            "--output is for --format dali and tfindex; other indexes go to the cache folder, or use --sidecar."
        )
    if kind != "penstock" and sidecar:
        raise click.UsageError("--sidecar is for Penstock's own indexes; name the file with --output.")
    with usage_errors():
        files = resolve_files(paths).files
    into_folder = output is not None and (os.path.isdir(output) or output.endswith("/"))
    if output and not into_folder and len(files) != 1:
        raise click.UsageError("The indexes of several files go to a folder: --output must name one that exists.")

    def work(file: ResolvedFile, progress: FileProgress) -> Indexed:
        where: IndexLocation = "sidecar" if sidecar else "cache" if kind == "penstock" else "none"
        target = None if kind == "penstock" else _target(file.path, kind, output, into_folder)
        indexed = _index(file, reading, where, target, progress)
        progress.advance(0, indexed.index.records if indexed.index else 0)
        return indexed

    done = on_each_file(files, work, jobs=jobs_for(len(files), jobs), title="indexing")
    problems = [entry.problem for entry in done if entry.problem]
    if as_json:
        write_json({"files": [entry._document() for entry in done], "problems": len(problems)})
    else:
        _print(done)
        for problem in problems:
            complain(problem)
    exit_with(problems)


def _target(path: str, kind: str, output: str | None, into_folder: bool) -> str:
    if output is None:
        return path + SUFFIXES[kind]
    _, name = split_path(path)
    return os.path.join(output, name + SUFFIXES[kind]) if into_folder else output


def _index(
    file: ResolvedFile, reading: ReadingArguments, where: IndexLocation, target: str | None, progress: FileProgress
) -> Indexed:
    shown = 0.0

    def advance(done: int, total: int) -> None:
        nonlocal shown
        share = min(1.0, done / total) if total else 1.0
        progress.advance(share - shown)
        shown = share

    try:
        if file.error is not None:
            raise file.error
        found = open_index(file.path, **reading, where=where, progress=advance)
        if target is not None:
            write_whole(target, to_text(found))
    except Exception as error:
        if not is_file_error(file.path, error):
            raise
        return Indexed(file.path, problem=problem_of(file.path, error))
    finally:
        progress.advance(1 - shown)
    return Indexed(file.path, found, target or _stored(file.path, found, where))


def _stored(file: str, found: ShardIndex, where: IndexLocation) -> str:
    """Return where the index is; empty if the cache folder cannot be written to."""
    sidecar, cached = sidecar_path(file), path_in_cache(found.identity)
    if where == "sidecar" or os.path.exists(sidecar):
        return sidecar
    return cached if os.path.exists(cached) else ""


def _print(done: list[Indexed]) -> None:
    table = plain_table("records", "size", "access", "file", "index", right=("records", "size"))
    for entry in done:
        if entry.index is not None:
            access = "random" if entry.index.seekable else "in order"
            size = size_text(entry.index.identity.size)
            place = "not stored: the cache folder cannot be written to"
            if entry.stored:
                cached = entry.stored == path_in_cache(entry.index.identity)
                place = "in the cache folder" if cached else printable(entry.stored)
            table.add_row(f"{entry.index.records:,}", size, access, Text(printable(entry.path)), Text(place))
    if table.row_count:
        print_table(table, extra=("index",))
