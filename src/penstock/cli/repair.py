"""``penstock repair``: what can be saved of damaged files, written to new ones."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from typing import Any

import click
from rich.text import Text

from penstock.cli.options import ReadingArguments, jobs_option, json_option, reading_options
from penstock.cli.output import (
    exit_with,
    open_console,
    print_problems,
    printable,
    reporting,
    usage_errors,
    write_json,
)
from penstock.cli.problem_advice import advice_for, note_on_numbers
from penstock.discovery.resolve import manifest_of
from penstock.integrity.problems import Problem
from penstock.integrity.repair import RepairReport, repair_dataset
from penstock.integrity.repair import repair as repair_file
from penstock.integrity.report import plural
from penstock.integrity.verify import is_directory
from penstock.manifest import SUFFIX

_EXAMPLES = """\b
Examples:
  penstock repair damaged.tfrecord -o saved.tfrecord
  penstock repair damaged.tfrecord --dry-run
  penstock repair data/ -o saved/
  penstock repair data/train.penstock.json -o saved/ --json
"""


@click.command(epilog=_EXAMPLES)
@reading_options
@click.option("--output", "-o", metavar="OUT", help="The new file; for a directory or a dataset, the new directory.")
@click.option("--dry-run", is_flag=True, help="Write nothing; show what would be saved and what is lost.")
@click.option("--nested", "nested", flag_value="nested", default=True, help="Payloads may hold TFRecords: the default.")
@click.option("--judge", "nested", flag_value="judge", help="Judge by other records whether payloads hold TFRecords.")
@click.option("--flat", "nested", flag_value="flat", help="No payload holds TFRecords: no record is in doubt.")
@click.option("--replace", is_flag=True, help="Replace files that exist.")
@jobs_option
@json_option
def repair(
    paths: tuple[str, ...],
    reading: ReadingArguments,
    output: str | None,
    dry_run: bool,
    nested: str,
    replace: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Write every record outside the damage to a new file.

    PATH is one file, one directory, or one dataset; it is never changed. Records that may belong to the payload of a
    damaged record are in doubt, and go to NAME.doubtful.tfrecord.
    """
    if len(paths) != 1:
        raise click.UsageError("Name one PATH, a file, a directory or a dataset, and the output with -o OUT.")
    if dry_run == (output is not None):
        raise click.UsageError("Name the output with --output, or look first with --dry-run.")
    problems: list[Problem] = []
    reports: list[RepairReport] = []
    with reporting(paths, problems), usage_errors():
        path = manifest_of(paths[0], folders=False) or paths[0]
        options: dict[str, Any] = {
            "nested": {"nested": True, "judge": None, "flat": False}[nested],
            "max_record_bytes": reading["max_record_bytes"],
            "replace": replace,
            "progress": True,
        }
        if path.endswith(SUFFIX) or is_directory(path):
            reports = repair_dataset(path, output, jobs=jobs, **options)
        else:
            reports = [repair_file(path, output, compression=reading["compression"], **options)]
    if problems:
        exit_with(problems)
    # If the records go to standard output, the report goes to standard error.
    with redirect_stdout(sys.stderr) if output == "-" else nullcontext():
        if as_json:
            _write_json(reports)
        else:
            _print(reports)
    damaged = [report for report in reports if not report.ok]
    # Damage is expected; that nothing at all could be saved is a failure.
    exit_with(damaged if dry_run else [report for report in damaged if not report.records])


def _write_json(reports: list[RepairReport]) -> None:
    files = [report._document(advice_for) for report in reports]
    total = {name: sum(getattr(report, name) for report in reports) for name in ("records", "doubtful")}
    write_json({"files": files, **total, "problems": sum(len(report.damage) for report in reports)})


def _print(reports: list[RepairReport]) -> None:
    problems = [problem for report in reports for problem in report.problems]
    if problems:
        print_problems(problems, table_in_pipe=True)
    console = open_console()
    for note in note_on_numbers(problems):
        console.print(Text(note))
    # Of several files, only the damaged ones are listed.
    listed = [report for report in reports if len(reports) == 1 or not report.ok]
    if len(listed) < len(reports) and reports[0].target is not None:
        console.print(Text(f"{plural(len(reports) - len(listed), 'whole file')} copied"))
    for report in listed:
        if report.target is not None:
            console.print(Text(printable(f"{report.target}: {plural(report.records, 'record')} saved")))
        if report.doubtful_target is not None:
            console.print(Text(printable(f"{report.doubtful_target}: {plural(report.doubtful, 'record')} in doubt")))
    records, doubtful = (sum(getattr(report, name) for report in reports) for name in ("records", "doubtful"))
    expected = [report.expected for report in reports if report.expected is not None]
    total = f" of {sum(expected):,}" if len(expected) == len(reports) else ""
    doubt = f", {plural(doubtful, 'record')} in doubt" if doubtful else ""
    console.print(Text(f"{plural(records, 'good record')}{total}{doubt}, {_loss(reports)}"))
    if doubtful:
        console.print(Text("if no record holds TFRecords itself, those in doubt belong to the file: use --flat"))


def _loss(reports: list[RepairReport]) -> str:
    if all(report.ok for report in reports):
        return "nothing is damaged"
    missing = sum(report.causes.get("missing", 0) for report in reports)
    lost = sum(report.lost_bytes for report in reports)
    return f"{plural(lost, 'byte')} lost" + (f", {plural(missing, 'file')} missing" if missing else "")
