"""``penstock diff``: what differs between two datasets."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import click
import numpy as np
from rich.text import Text

from penstock.cli.display import value_text
from penstock.cli.options import ReadingArguments, json_option, reading_options
from penstock.cli.output import complain, open_console, printable, reporting, usage_errors, write_report
from penstock.inspect.diff import diff as diff_datasets
from penstock.inspect.diff_report import DiffReport, RecordDifference
from penstock.integrity.problems import Problem

_EXAMPLES = """\b
Examples:
  penstock diff old.tfrecord new.tfrecord
  penstock diff data/train copy/train --by id
  penstock diff 'old-*.tfrecord.gz' new/ --json | jq .changed
"""

_LINE_IN_PIPE = 100


@click.command(epilog=_EXAMPLES)
@reading_options
@click.option("--by", metavar="NAME", help="Match records by this feature; by default, by their position.")
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Changed, removed and added records to show, of each.",
)
@json_option
def diff(paths: tuple[str, ...], reading: ReadingArguments, by: str | None, limit: int, as_json: bool) -> None:
    """Compare two datasets: their schemas, and their records by position or by key.

    Two PATHs: A and B. Values are compared: compression, sharding and the order of features do not count. The exit
    status is 1 where they differ, or where a file is damaged or missing.
    """
    if len(paths) != 2:
        raise click.UsageError(
            "Name two datasets, A and B; patterns in quotes, so that the shell does not expand them."
        )
    problems: list[Problem] = []
    report = None
    with reporting(paths, problems), usage_errors():
        report = diff_datasets(paths[0], paths[1], by=by, limit=limit, **reading, progress=True)
    if report is None:
        click.get_current_context().exit(1)
    for problem in report.problems:
        complain(problem)
    if as_json:
        write_report(report)
    else:
        _print(report)
    click.get_current_context().exit(0 if report.equal else 1)


def _print(report: DiffReport) -> None:
    console = open_console()
    room = console.width if console.is_terminal else _LINE_IN_PIPE
    console.print(Text(report.summary))
    for feature in report.schema:
        console.print(Text(f"schema: {printable(feature.name)}", "bold"))
        _sides("  ", *("absent" if side is None else repr(side) for side in (feature.a, feature.b)))
    for difference in report.differences:
        console.print(Text(_title(difference, report.by), "bold"))
        for name, (a, b) in difference.values.items():
            console.print(Text(f"  {printable(name) or 'record'}{_where(a, b)}", "cyan"))
            _sides("    ", *(value_text(value, max(20, room - 7)) for value in (a, b)))


def _sides(indent: str, a: str, b: str) -> None:
    console = open_console()
    console.print(Text(f"{indent}- {a}", "red"))
    console.print(Text(f"{indent}+ {b}", "green"))


def _title(difference: RecordDifference, by: str | None) -> str:
    places = " and ".join(dict.fromkeys(str(place) for place in (difference.a, difference.b) if place is not None))
    what = {"changed": "changed", "removed": "only in A", "added": "only in B"}[difference.change]
    key = "" if by is None else f"{by} {value_text(difference.key, 60)}: "
    return printable(f"{key}{what}: {places}")


def _where(a: Any, b: Any) -> str:
    """Return where two long values differ first; "" for other values."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        a, b = a.reshape(-1), b.reshape(-1)
    elif not (isinstance(a, (bytes, list)) and isinstance(b, (bytes, list)) and type(a) is type(b)):
        return ""
    missing = object()
    pairs = enumerate(zip_longest(a, b, fillvalue=missing))
    first = next(
        (i for i, (left, right) in pairs if left is missing or right is missing or repr(left) != repr(right)), 0
    )
    return f", from {'byte' if isinstance(a, bytes) else 'value'} {first:,}"
