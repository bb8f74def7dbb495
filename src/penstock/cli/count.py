"""``penstock count``: how many records files hold."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from penstock.cli.options import ReadingArguments, jobs_option, json_option, reading_options
from penstock.cli.output import complain, exit_with, open_console, printable, usage_errors, write_report
from penstock.inspect.count import CountReport
from penstock.inspect.count import count as count_files

_EXAMPLES = """\b
Examples:
  penstock count train.tfrecord
  penstock count 'data/train-*.tfrecord.gz' s3://bucket/validation/
  penstock count data/ --json | jq .records
"""


@click.command(epilog=_EXAMPLES)
@reading_options
@jobs_option
@json_option
def count(paths: tuple[str, ...], reading: ReadingArguments, jobs: int | None, as_json: bool) -> None:
    """Count the records of files.

    Headers are checked, payloads are not: see verify. A file that is damaged or missing is reported, and not part of
    the total.
    """
    with usage_errors():
        report = count_files(paths, **reading, jobs=jobs, progress=True)
    if as_json:
        write_report(report)
    else:
        _print(report)
        for problem in report.problems:
            complain(problem)
    exit_with(report.problems)


def _print(report: CountReport) -> None:
    console = open_console()
    has_total = len(report.files) > 1
    if not console.is_terminal:
        # Like wc: the number first, and a total if there is more than one file.
        for file in report.files:
            if file.records is not None:
                click.echo(f"{file.records}\t{printable(file.path)}")
        if has_total:
            click.echo(f"{report.records}\ttotal")
        return
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0), show_footer=has_total)
    table.add_column("records", f"{report.records:,}", justify="right", footer_style="bold", no_wrap=True)
    table.add_column("file", "total", overflow="fold", footer_style="bold")
    for file in report.files:
        number = Text("?", style="red") if file.records is None else Text(f"{file.records:,}", style="cyan")
        table.add_row(number, printable(file.path))
    console.print(table)
