"""``penstock repair``: what can be saved of damaged files, written to new ones."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from typing import Any

import click
from rich.text import Text

from penstock.cli.options import Reading, jobs_option, json_option, reading_options
from penstock.cli.output import complain, open_console, plural, print_problems, printable, write_json
from penstock.cli.problems import is_expected, note_on_numbers, problem_of
from penstock.cli.work import expand, names_folder
from penstock.compression import by_extension
from penstock.discovery.resolve import manifest_of
from penstock.errors import PenstockError
from penstock.integrity.repair import RepairReport, repair_dataset
from penstock.integrity.repair import repair as repair_file
from penstock.manifest import SUFFIX
from penstock.progress import ProgressBar, on_terminal
from penstock.storage import locate

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
@click.option("--judge", "nested", flag_value="judge", help="Other records tell whether payloads hold TFRecords.")
@click.option("--flat", "nested", flag_value="flat", help="No payload holds TFRecords: no record is in doubt.")
@click.option("--replace", is_flag=True, help="Replace files that exist.")
@jobs_option
@json_option
def repair(
    paths: tuple[str, ...],
    reading: Reading,
    output: str | None,
    dry_run: bool,
    nested: str,
    replace: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Write every record outside the damage to a new file.

    PATH is one file, one directory, or one dataset; it is never changed. Records of which nobody can know whether they
    are the file's own are written apart, to NAME.doubtful.tfrecord.
    """
    if len(paths) != 1:
        raise click.UsageError(
            "Name one PATH: a file, a directory, or a dataset; where the records go is said with -o OUT."
        )
    if dry_run == (output is not None):
        raise click.UsageError("Say where to with --output, or look first with --dry-run.")
    path = manifest_of(paths[0], folders=False) or paths[0]
    try:
        with ProgressBar("repairing", _plain_bytes(path) if on_terminal() else None, "bytes") as bar:
            options: dict[str, Any] = {
                "nested": {"nested": True, "judge": None, "flat": False}[nested],
                "max_record_bytes": reading.max_record_bytes,
                "replace": replace,
                "progress": bar.advance,
            }
            if path.endswith(SUFFIX) or names_folder(path):
                reports = repair_dataset(path, output, jobs=jobs, **options)
            else:
                reports = [repair_file(path, output, compression=reading.compression, **options)]
    except Exception as error:
        if isinstance(error, FileExistsError):
            raise click.UsageError(printable(f"{error.filename} exists: --replace replaces it.")) from None
        if isinstance(error, ValueError) and not isinstance(error, PenstockError):
            raise click.UsageError(printable(str(error))) from None
        if not is_expected(path, error):
            raise
        complain(problem_of(path, error))
        click.get_current_context().exit(1)
    # Where the records go to standard output, the report does not.
    with redirect_stdout(sys.stderr) if output == "-" else nullcontext():
        if as_json:
            write_json(_as_json(reports))
        else:
            _print(reports)
    damaged = [report for report in reports if not report.is_whole]
    # Damage is what one comes for; that nothing at all could be saved is not.
    failed = damaged if dry_run else [report for report in damaged if not report.records]
    click.get_current_context().exit(1 if failed else 0)


def _plain_bytes(path: str) -> int | None:
    """Return the size of what is to be repaired; None where only the end will tell, as with compressed files."""
    try:
        files = [file for file in expand([path]) if isinstance(file, str)]
        if any(by_extension(file) for file in files):
            return None
        return sum(locate(file)[0].stat(locate(file)[1]).size or 0 for file in files)
    except OSError:
        return None  # the repair itself tells what is wrong


def _as_json(reports: list[RepairReport]) -> dict[str, Any]:
    files = [
        {
            "path": report.source,
            "target": report.target,
            "records": report.records,
            "expected": report.expected,
            "doubtful": report.doubtful,
            "doubtful_target": report.doubtful_target,
            "problems": [problem_of(report.source, error).as_json() for error in report.damage],
        }
        for report in reports
    ]
    total = {name: sum(getattr(report, name) for report in reports) for name in ("records", "doubtful")}
    return {"files": files, **total, "problems": sum(len(report.damage) for report in reports)}


def _print(reports: list[RepairReport]) -> None:
    problems = [problem_of(report.source, error) for report in reports for error in report.damage]
    if problems:
        print_problems(problems, table_in_pipe=True)
    console = open_console()
    for note in note_on_numbers(problems):
        console.print(Text(note))
    # Of a folder, where most files are whole, those that are not are told.
    told = [report for report in reports if len(reports) == 1 or not report.is_whole]
    if len(told) < len(reports) and reports[0].target is not None:
        console.print(Text(f"{plural(len(reports) - len(told), 'whole file')} copied"))
    for report in told:
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
        console.print(Text("if no record holds TFRecords itself, those in doubt are the file's own: --flat keeps them"))


def _loss(reports: list[RepairReport]) -> str:
    missing = sum(report.causes.get("missing", 0) for report in reports)
    lost = sum(stop - start for report in reports for start, stop in report.lost_ranges if stop is not None)
    if all(report.is_whole for report in reports):
        return "nothing is damaged"
    return f"{plural(lost, 'byte')} lost" + (f", {plural(missing, 'file')} missing" if missing else "")
