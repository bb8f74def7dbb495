"""``penstock verify``: whether files are whole, and where they are not."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
from rich.text import Text

from penstock.cli.manifests import problems_of_manifest
from penstock.cli.missing_shards import missing_by_name
from penstock.cli.options import Reading, jobs_option, json_option, reading_options
from penstock.cli.output import open_console, plural, print_problems, printable, size_text, write_json
from penstock.cli.problems import MALFORMED, Problem, advice_on, is_expected, note_on_numbers, problem_of
from penstock.cli.work import names_folder, on_each
from penstock.discovery.resolve import ResolvedFile, resolve_files
from penstock.integrity.verify import MOST_TOLD, FileCheck
from penstock.manifest import SUFFIX
from penstock.parallel import FileProgress, available_cpus, jobs_for
from penstock.schema import Schema
from penstock.storage import locate
from penstock.storage.shard_names import dataset_of

_EXAMPLES = """\b
Examples:
  penstock verify train.tfrecord
  penstock verify data/ 's3://bucket/train-*.tfrecord'
  penstock verify data/train.penstock.json
  penstock verify data/ --json | jq '.files[] | select(.problems != [])'
"""


@dataclass(frozen=True)
class Report:
    """What was read of one file, and what is wrong with it."""

    path: str
    records: int
    bytes: int
    """Of good records, frames included, in the uncompressed stream."""
    problems: list[Problem]
    before: int | None = None
    """Of the records, those before the first damage; None where nothing is damaged."""
    examples: bool | None = None
    """Whether the payloads are Examples; None where there are none, or where it was not looked."""
    decoded: tuple[str, ...] | None = None
    """The images and tensors that were decoded; None where none was to be, or could be."""
    seems: str | None = None
    """What the payloads seem to be, where they are no Examples."""
    doubtful: int = 0
    """Records that are not among them: they may lie inside the payload of a damaged one."""

    def as_json(self) -> dict[str, Any]:
        saved = None if self.before is None else {"before": self.before, "behind": self.records - self.before}
        return {
            "path": self.path,
            "records": self.records,
            "bytes": self.bytes,
            "examples": self.examples,
            "decoded": list(self.decoded or ()),
            "seems": self.seems,
            "saved": saved,
            "doubtful": self.doubtful,
            "problems": [problem.as_json() for problem in self.problems],
        }


@dataclass(frozen=True)
class Checking:
    """How files are checked."""

    reading: Reading
    threads: int
    decode: bool
    load: Callable[[str], Schema]

    def of(self, file: ResolvedFile) -> FileCheck:
        """Return the check of a file, against the schema that lies beside it."""
        return FileCheck(
            file.path,
            None if file.schema is None else self.load(file.schema),
            compression=self.reading.kind,
            max_record_bytes=self.reading.max_record_bytes,
            threads=self.threads,
            decode=self.decode,
        )


@click.command(epilog=_EXAMPLES)
@reading_options
@click.option("--decode", is_flag=True, help="Also decode images and tensors, as the schema beside the files says.")
@jobs_option
@json_option
def verify(paths: tuple[str, ...], reading: Reading, decode: bool, jobs: int | None, as_json: bool) -> None:
    """Read files whole, and check every checksum and every Example.

    Lists everything that is damaged, what happened to it, and what can be saved. Examples are checked against the
    schema beside the files, where there is one. Of a dataset, given as its directory or its manifest
    (NAME.penstock.json), also what is missing, changed or one too many.
    """
    resolved = resolve_files(paths, describe=True)
    # What is wrong with a manifest, or missing of its shards, is found when they are compared.
    files = [file for file in resolved.files if file.error is None or file.manifest is None]
    manifests = list(resolved.datasets)
    jobs = jobs_for(len(files), jobs)
    threads = max(1, min(4, available_cpus() // jobs))
    checking = Checking(reading, threads, decode, functools.cache(resolved.load_schema))
    start = time.perf_counter()
    read = on_each(files, lambda file, ticker: _verify(file, checking, ticker), jobs=jobs, title="verifying")
    compared = on_each(manifests, _verify_manifest, jobs=jobs, title="comparing with manifests")
    missing = [Report(problem.path, 0, 0, [problem]) for problem in _missing(paths, files, manifests)]
    reports = read + compared + missing
    seconds = time.perf_counter() - start
    problems = [problem for report in reports for problem in report.problems]
    if as_json:
        total = sum(report.records for report in reports)
        write_json({"files": [report.as_json() for report in reports], "records": total, "problems": len(problems)})
    else:
        _print(read, compared, problems, seconds)
    click.get_current_context().exit(1 if problems else 0)


def _missing(paths: tuple[str, ...], files: list[ResolvedFile], manifests: list[str]) -> list[Problem]:
    """Return what is not in the directories that were named, where no manifest tells."""
    folders = tuple(os.path.join(locate(path)[1], "") for path in paths if names_folder(path))
    described = {manifest.removesuffix(SUFFIX) for manifest in manifests}
    there = [file.path for file in files if file.error is None and file.path.startswith(folders)]
    return missing_by_name(file for file in there if dataset_of(file) not in described)


def _verify_manifest(path: str, ticker: FileProgress) -> Report:
    problems = problems_of_manifest(path)
    ticker.advance(1)
    return Report(path, 0, 0, problems)


def _verify(resolved: ResolvedFile, checking: Checking, ticker: FileProgress) -> Report:
    file = resolved.path
    if resolved.error is not None:
        ticker.advance(1)
        return Report(file, 0, 0, [problem_of(file, resolved.error)])
    ending: list[Problem] = []
    check: FileCheck | None = None
    done = 0.0
    try:
        check = checking.of(resolved)
        file_size = locate(file)[0].stat(file).size
        for records in check.run():
            # Of a compressed file only the end is known; its part of the bar is full when it seems to be, and waits.
            now = min(0.99, check.bytes / file_size) if file_size else 0.0
            ticker.advance(now - done, records)
            done = now
    except Exception as error:
        if not is_expected(file, error):
            raise
        ending = [problem_of(file, error)]
    ticker.advance(1 - done)
    if check is None:
        return Report(file, 0, 0, ending)
    damage = [problem_of(file, error) for error in check.damage]
    payloads = check.payloads
    malformed = [problem_of(file, error) for error in payloads.malformed]
    decoded = tuple(payloads.decoded) if checking.decode else None
    if payloads.not_decoded is not None:
        malformed.append(problem_of(file, payloads.not_decoded))
        decoded = decoded or None
    return Report(
        file,
        check.records,
        check.bytes,
        [*damage, *ending, *malformed],
        check.before,
        payloads.are_examples,
        decoded,
        payloads.seems,
        sum(error.records for error in check.damage),
    )


def _print(read: list[Report], compared: list[Report], problems: list[Problem], seconds: float) -> None:
    console = open_console()
    kinds = [(reports, kind) for reports, kind in ((read, "file"), (compared, "manifest")) if reports]
    records = sum(report.records for report in read)
    took = f"{size_text(sum(report.bytes for report in read))} in {seconds:.1f} s"
    if not problems:
        seen = " and ".join(plural(len(reports), kind) for reports, kind in kinds)
        summary = f": {seen}, {plural(records, 'record')}, {took}; every checksum matches{_remarks(read)}"
        console.print(Text.assemble(("ok", "bold green"), summary))
        return
    print_problems(problems)
    if console.is_terminal:
        console.print()
    for advice in [*advice_on(problems), *note_on_numbers(problems), *_notes_on_payloads(read)]:
        console.print(Text(printable(advice)), soft_wrap=not console.is_terminal)
    for report in read:
        if report.before is not None:
            saved = f"{report.before:,} before the first damage, {report.records - report.before:,} behind it"
            saved += f"; {report.doubtful:,} more are in doubt" if report.doubtful else ""
            line = f"{report.path}: {plural(report.records, 'record')} can be saved, {saved}"
            console.print(Text(printable(line)), soft_wrap=not console.is_terminal)
    bad = " and ".join(f"{_with_problems(reports)} of {plural(len(reports), kind)}" for reports, kind in kinds)
    good = f"{plural(records, 'record')} whose checksums match"
    summary = f": {plural(len(problems), 'problem')} in {bad}, {good}, {took}{_remarks(read)}"
    console.print(Text.assemble(("not ok", "bold red"), summary))


def _notes_on_payloads(reports: list[Report]) -> list[str]:
    """Name the files of which more payloads may be malformed than was told."""
    counts = {report.path: sum(problem.kind == MALFORMED for problem in report.problems) for report in reports}
    return [
        f"{path}: behind {MOST_TOLD} records that are malformed, no payload was looked at"
        for path, count in counts.items()
        if count >= MOST_TOLD
    ]


def _with_problems(reports: list[Report]) -> int:
    return sum(bool(report.problems) for report in reports)


def _remarks(reports: list[Report]) -> str:
    """Say how many files are empty, or hold other payloads than Examples, which is no damage."""
    empty = sum(not report.records and not report.problems for report in reports)
    others = [report for report in reports if report.examples is False]
    seem = ", ".join(dict.fromkeys(report.seems for report in others if report.seems is not None))
    remark = f"; {plural(empty, 'file')} {'holds' if empty == 1 else 'hold'} no record" if empty else ""
    remark += f"; the payloads of {plural(len(others), 'file')} are no Examples" if others else ""
    remark += f" (they seem to be {seem})" if seem else ""
    plain = sum(report.decoded == () for report in reports)
    return remark + (f"; no schema says what to decode in {plural(plain, 'file')}" if plain else "")
