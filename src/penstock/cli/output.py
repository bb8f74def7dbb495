"""Print for people and for pipes: consoles, tables, problems, and names that are safe to print."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.problem_advice import advice_for
from penstock.discovery.resolve import is_file_error
from penstock.errors import ExpressionError, PenstockError
from penstock.integrity.problems import Problem, problem_among
from penstock.integrity.report import Report

# A console width that no line reaches.
_UNBOUNDED = 100_000

# Narrower terminals do not show the extra columns of a table.
_NARROW = 80


# A full disk, or a quota that is used up.
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _Console(Console):
    """A console that leaves it to the caller that the reader of standard output has left."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def open_console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is: file names may look like markup."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def write_json(value: Any) -> None:
    """Write one JSON document."""
    click.echo(json.dumps(value, indent=2))


def write_report(report: Report, advise: Callable[[Problem], str] = advice_for) -> None:
    """Write a report as JSON, with advice on each problem."""
    write_json(report._document(advise))


def exit_with(problems: Collection[object]) -> None:
    """End the command: with status 1 if there are problems."""
    click.get_current_context().exit(1 if problems else 0)


def complain(problem: Problem, advice: str | None = None) -> None:
    """Report a problem on standard error, in one line."""
    advice = advice_for(problem) if advice is None else advice
    line = Text(printable(f"penstock: {problem}" + (f"; {advice}" if advice else "")))
    line.stylize("red", 0, len("penstock:"))
    open_console(stderr=True).print(line)


@contextmanager
def reporting(paths: Sequence[str], problems: list[Problem], *, malformed_advice: str = "") -> Iterator[None]:
    """Report errors about these files on standard error, and add them to ``problems``, instead of raising them."""
    try:
        yield
    except Exception as error:
        if _is_about_output(error) or not any(is_file_error(path, error) for path in paths):
            raise
        problem = problem_among(paths, error)
        problems.append(problem)
        complain(problem, advice_for(problem, malformed_advice))


@contextmanager
def usage_errors() -> Iterator[None]:
    """Report wrong arguments, and an output that exists, as mistakes in the command."""
    try:
        yield
    except FileExistsError as error:
        raise click.UsageError(printable(f"{error.filename} exists: --replace replaces it.")) from None
    except (TypeError, ValueError) as error:
        if isinstance(error, ExpressionError):
            raise click.UsageError("\n".join(map(printable, str(error).splitlines()))) from None
        if isinstance(error, PenstockError):
            raise
        text = str(error)
        raise click.UsageError(printable(f"{text[:1].upper()}{text[1:]}.")) from None


def _is_about_output(error: Exception) -> bool:
    """Whether an error is about standard output: its reader has left, or it is a full disk, which has no name."""
    if isinstance(error, BrokenPipeError):
        return True
    return isinstance(error, OSError) and error.errno in _NO_SPACE and error.filename is None


def printable(text: str) -> str:
    """Escape control characters, which could harm a terminal, and undecodable file names."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def plain_table(*columns: str, right: Collection[str] = ()) -> Table:
    """Return a table without lines; columns in ``right`` hold numbers, which are not wrapped."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        number = column in right
        table.add_column(column, justify="right" if number else "left", overflow="fold", no_wrap=number)
    return table


def print_table(table: Table, *, extra: Sequence[str] = ()) -> None:
    """Print a table, on a narrow terminal without the ``extra`` columns; in a pipe, a row is a line."""
    console = open_console()
    if console.is_terminal:
        for name in extra:
            if console.width >= _NARROW or _fits(table, console):
                break
            shown = [column for column in table.columns if column.header != name]
            table.columns = [replace(column, _index=index) for index, column in enumerate(shown)]  # as rich expects
        console.print(table, soft_wrap=False)
        return
    wide = Console(width=_UNBOUNDED, highlight=False, markup=False, emoji=False, color_system=None)
    with wide.capture() as capture:
        wide.print(table)
    click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))


def print_problems(problems: Sequence[Problem], *, table_in_pipe: bool = False) -> None:
    """Print each problem as a row of a table, or as a line if the row would be wrapped."""
    console = open_console()
    table = _problem_table(problems)
    if table_in_pipe and not console.is_terminal:
        print_table(table)
    elif console.is_terminal and (console.width >= _NARROW or _fits(table, console)):
        console.print(table, soft_wrap=False)
    else:
        for problem in problems:
            click.echo(printable(str(problem)))


def _fits(table: Table, console: Console) -> bool:
    unbounded = console.options.update(max_width=_UNBOUNDED)
    return console.measure(table, options=unbounded).maximum <= console.width


def _problem_table(problems: Sequence[Problem]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("file", overflow="fold")
    table.add_column("record", justify="right", no_wrap=True, style="cyan")
    table.add_column("bytes", justify="right", no_wrap=True, style="cyan")
    table.add_column("damage", no_wrap=True, style="red")
    table.add_column("what is wrong", overflow="fold", style="red")
    for problem in problems:
        table.add_row(
            Text(printable(problem.path)),
            _number(problem.record),
            _range(problem.offset, problem.stop),
            problem.damage or "",
            Text(printable(problem.cause)),
        )
    return table


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _range(start: int | None, stop: int | None) -> str:
    return _number(start) if stop is None else f"{_number(start)} to {_number(stop)}"
