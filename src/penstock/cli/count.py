"""``penstock count``: how many records files hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from penstock.cli.options import Reading, jobs_option, json_option, reading_options
from penstock.cli.output import complain, open_console, printable, write_json
from penstock.cli.problems import Problem, is_expected, problem_of
from penstock.cli.work import expand, on_each
from penstock.parallel import FileProgress, available_cpus, jobs_for

_EXAMPLES = """\b
Examples:
  penstock count train.tfrecord
  penstock count 'data/train-*.tfrecord.gz' s3://bucket/validation/
  penstock count data/ --json | jq .records
"""


@dataclass(frozen=True)
class Count:
    """What one file holds; ``records`` is None where that cannot be told."""

    path: str
    records: int | None = None
    problem: Problem | None = None

    def as_json(self) -> dict[str, Any]:
        problem = self.problem.as_json() if self.problem else None
        return {"path": self.path, "records": self.records, "problem": problem}


@click.command(epilog=_EXAMPLES)
@reading_options
@jobs_option
@json_option
def count(paths: tuple[str, ...], reading: Reading, jobs: int | None, as_json: bool) -> None:
    """Count the records of files.

    Headers are checked, payloads are not: see verify. A file that is damaged or missing is reported and left out of
    the total.
    """

    def work(file: str | Problem, ticker: FileProgress) -> Count:
        counted = _count(file, reading, threads)
        ticker.advance(1, counted.records or 0)
        return counted

    files = expand(paths)
    at_once = jobs_for(len(files), jobs)
    threads = max(1, available_cpus() // at_once)
    counts = on_each(files, work, jobs=at_once, title="counting")
    problems = [entry.problem for entry in counts if entry.problem]
    total = sum(entry.records or 0 for entry in counts)
    if as_json:
        write_json({"files": [entry.as_json() for entry in counts], "records": total, "problems": len(problems)})
    else:
        _print(counts, total)
        for problem in problems:
            complain(problem)
    click.get_current_context().exit(1 if problems else 0)


def _count(file: str | Problem, reading: Reading, threads: int) -> Count:
    if isinstance(file, Problem):
        return Count(file.path, problem=file)
    try:
        return Count(file, reading.open(file, threads=threads).count())
    except Exception as error:
        if not is_expected(file, error):
            raise
        return Count(file, problem=problem_of(file, error))


def _print(counts: list[Count], total: int) -> None:
    console = open_console()
    if not console.is_terminal:
        # Like wc: the number first, and a total where there is more than one file.
        for entry in counts:
            if entry.records is not None:
                click.echo(f"{entry.records}\t{printable(entry.path)}")
        if len(counts) > 1:
            click.echo(f"{total}\ttotal")
        return
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0), show_footer=len(counts) > 1)
    table.add_column("records", f"{total:,}", justify="right", footer_style="bold", no_wrap=True)
    table.add_column("file", "total", overflow="fold", footer_style="bold")
    for entry in counts:
        number = Text("?", style="red") if entry.records is None else Text(f"{entry.records:,}", style="cyan")
        table.add_row(number, printable(entry.path))
    console.print(table)
