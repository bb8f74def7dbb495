"""``penstock cat``: the records of files, as text for people or as bytes for programs."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeAlias

import click

from penstock._core import RecordChunk
from penstock.cli.options import ReadingArguments, Window, json_option, reading_options
from penstock.cli.output import complain, exit_with, open_console, printable, reporting, usage_errors
from penstock.discovery.resolve import resolve_files
from penstock.integrity.problems import Problem, problem_of
from penstock.records.reader import RecordReader
from penstock.records.writer import RecordWriter

_EXAMPLES = """\b
Examples:
  penstock cat train.tfrecord --limit 5
  penstock cat train.tfrecord -n 1 --format raw | protoc --decode_raw
  penstock cat train.tfrecord.gz --format tfrecord | penstock count -
  penstock cat bad.tfrecord --skip-damaged --format tfrecord > new.tfrecord
"""

_PREVIEW_IN_PIPE = 60
_BINARY = ("tfrecord", "raw")


Sink: TypeAlias = Callable[[str, RecordChunk], None]
"""Takes the path of a file, and records from it."""


@click.command(epilog=_EXAMPLES)
@reading_options
@click.option("--skip", type=click.IntRange(min=0), default=0, help="Records to skip, of all files together.")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=None, help="Records to show, of all files together.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["lines", "hex", "base64", "tfrecord", "raw"]),
    default="lines",
    show_default=True,
    help="lines: number, byte offset, length and a preview. hex, base64: one record a line. tfrecord: records with "
    "their frames, uncompressed. raw: payloads, with nothing between.",
)
@click.option("--skip-damaged", is_flag=True, help="Skip damage, and report it.")
@json_option
def cat(
    paths: tuple[str, ...],
    reading: ReadingArguments,
    skip: int,
    limit: int | None,
    form: str,
    skip_damaged: bool,
    as_json: bool,
) -> None:
    """Show the records of files, or copy them.

    With --json one JSON object a line: path, record, offset, length and the payload as base64.
    """
    if as_json and form != "lines":
        raise click.UsageError("--json and --format exclude each other: choose one.")
    if form in _BINARY and sys.stdout.isatty():
        raise click.UsageError(f"--format {form} is not for a terminal: send it to a file or a pipe, with > or |.")
    problems: list[Problem] = []
    with ExitStack() as stack:
        sink = _open_sink("json" if as_json else form, stack)
        with usage_errors():
            files = resolve_files(paths).files
        if len(files) > 1 and form == "lines" and not as_json:
            sink = _with_titles(sink)
        window = Window(skip, limit)
        for file in files:
            if window.limit == 0:
                break
            with reporting([file.path], problems):
                if file.error is not None:
                    raise file.error
                reader = RecordReader(file.path, **reading, on_error="skip" if skip_damaged else "raise")
                try:
                    for chunk in window.cut(reader.chunks()):
                        sink(file.path, chunk)
                finally:
                    for error in reader.damage:
                        problems.append(problem_of(file.path, error))
                        complain(problems[-1])
    exit_with(problems)


def _open_sink(form: str, stack: ExitStack) -> Sink:
    if form == "tfrecord":
        writer = stack.enter_context(RecordWriter("-", compression=""))
        return lambda path, chunk: writer.write_many(list(chunk))
    if form == "raw":
        out = sys.stdout.buffer
        return lambda path, chunk: out.writelines(chunk)
    if form == "json":
        return _each_record(_json_line)
    if form == "hex":
        return _each_record(lambda path, record, offset, payload: payload.hex())
    if form == "base64":
        return _each_record(lambda path, record, offset, payload: base64.b64encode(payload).decode("ascii"))
    console = open_console()
    room = max(20, console.width - 34) if console.is_terminal else _PREVIEW_IN_PIPE
    return _each_record(lambda path, record, offset, payload: _preview_line(record, offset, payload, room))


def _each_record(line: Callable[[str, int, int, bytes], str]) -> Sink:
    def sink(path: str, chunk: RecordChunk) -> None:
        first = chunk.first_record
        lines = (line(path, first + i, chunk.frame_offset(i), payload) for i, payload in enumerate(chunk))
        click.echo("\n".join(lines))

    return sink


def _with_titles(sink: Sink) -> Sink:
    """Name each file above its records, as tail does."""
    last: list[str] = []

    def titled(path: str, chunk: RecordChunk) -> None:
        if last != [path]:
            last[:] = [path]
            click.echo(f"==> {printable(path)} <==")
        sink(path, chunk)

    return titled


def _json_line(path: str, record: int, offset: int, payload: bytes) -> str:
    text = base64.b64encode(payload).decode("ascii")
    return json.dumps({"path": path, "record": record, "offset": offset, "length": len(payload), "payload": text})


def _preview_line(record: int, offset: int, payload: bytes, room: int) -> str:
    text = printable(payload[:room].decode("utf-8", "backslashreplace"))
    if len(text) > room or len(payload) > room:
        text = text[: room - 1] + "…"
    return f"{record:>8} {offset:>12} {len(payload):>9}  {text}".rstrip()
