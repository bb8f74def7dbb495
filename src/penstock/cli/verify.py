"""``penstock verify``: whether files are whole, and where they are not."""

from __future__ import annotations

import time

import click
from rich.text import Text

from penstock.cli.options import ReadingArguments, jobs_option, json_option, reading_options
from penstock.cli.output import exit_with, open_console, print_problems, printable, usage_errors, write_report
from penstock.cli.problem_advice import advice_on, note_on_numbers
from penstock.integrity.problems import MALFORMED
from penstock.integrity.report import plural
from penstock.integrity.verify import VerifyReport
from penstock.integrity.verify import verify as verify_files
from penstock.integrity.verify_file import MAX_MALFORMED

_EXAMPLES = """\b
Examples:
  penstock verify train.tfrecord
  penstock verify data/ 's3://bucket/train-*.tfrecord'
  penstock verify data/train.penstock.json
  penstock verify data/ --json | jq '.files[] | select(.problems != [])'
"""


@click.command(epilog=_EXAMPLES)
@reading_options
@click.option("--decode", is_flag=True, help="Also decode images and tensors, as declared in the schema.")
@jobs_option
@json_option
def verify(paths: tuple[str, ...], reading: ReadingArguments, decode: bool, jobs: int | None, as_json: bool) -> None:
    """Read files whole, and check every checksum and every Example.

    Lists all damage, what most likely happened, and how many records can be saved. Examples are checked against the
    manifest or schema file of the dataset, if there is one. A dataset, given as its directory or its manifest
    (NAME.penstock.json), is also checked for missing, changed and extra shards.
    """
    start = time.perf_counter()
    with usage_errors():
        report = verify_files(paths, **reading, decode=decode, jobs=jobs, progress=True)
    if as_json:
        write_report(report)
    else:
        _print(report, time.perf_counter() - start)
    exit_with(report.problems)


def _print(report: VerifyReport, seconds: float) -> None:
    console = open_console()
    if not report.ok:
        print_problems(report.problems)
        if console.is_terminal:
            console.print()
        for line in _notes(report):
            console.print(Text(printable(line)), soft_wrap=not console.is_terminal)
    status = ("ok", "bold green") if report.ok else ("not ok", "bold red")
    console.print(Text.assemble(status, f": {report.summary} ({seconds:.1f} s)"))


def _notes(report: VerifyReport) -> list[str]:
    """Return what to do, and what can be saved."""
    lines = [*advice_on(report.problems), *note_on_numbers(report.problems)]
    lines += [
        f"{file.path}: payloads after {MAX_MALFORMED} malformed records were not checked"
        for file in report.files
        if sum(problem.kind == MALFORMED for problem in file.problems) >= MAX_MALFORMED
    ]
    for file in report.files:
        if file.before_damage is not None:
            after = file.records - file.before_damage
            saved = f"{file.before_damage:,} before the first damage, {after:,} after it"
            saved += f"; {file.doubtful:,} more are in doubt" if file.doubtful else ""
            lines.append(f"{file.path}: {plural(file.records, 'record')} can be saved, {saved}")
    return lines
