"""Text for people and for pipes: consoles, tables, numbers and names that are safe to print."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.problems import Problem, is_expected, problem_of
from penstock.errors import MalformedExampleError, PenstockError

# Columns of the console that no line fills.
_UNBOUNDED = 100_000

# Terminals below this width have no room for what is extra.
_NARROW = 80


def open_console(*, stderr: bool = False) -> Console:
    """A console that prints text as it is: file names may look like markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def write_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))


def complain(problem: Problem) -> None:
    """Report a problem on standard error, in one line."""
    line = Text(printable(f"penstock: {problem}" + (f"; {problem.advice}" if problem.advice else "")))
    line.stylize("red", 0, len("penstock:"))
    open_console(stderr=True).print(line)


@contextmanager
def reporting(paths: Sequence[str], problems: list[Problem], *, malformed_advice: str = "") -> Iterator[None]:
    """Report what goes wrong while these files are read, and note it in ``problems``, instead of raising it."""
    try:
        yield
    except Exception as error:
        if not any(is_expected(path, error) for path in paths):
            raise
        own_path, filename = getattr(error, "path", None), getattr(error, "filename", None)
        if filename in paths or isinstance(error, FileNotFoundError):
            own_path = own_path or filename
        problem = problem_of(own_path or ("" if isinstance(error, PenstockError) else paths[0]), error)
        if isinstance(error, MalformedExampleError):
            problem = replace(problem, advice=malformed_advice)
        problems.append(problem)
        complain(problem)


def printable(text: str) -> str:
    """Escape what could harm a terminal or cannot be encoded: control characters, undecodable file names."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def size_text(count: float) -> str:
    """A number of bytes as people say it."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def plain_table(*columns: str, right: Collection[str] = ()) -> Table:
    """A table without lines; columns named in ``right`` hold numbers, which are not broken."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        number = column in right
        table.add_column(column, justify="right" if number else "left", overflow="fold", no_wrap=number)
    return table


def print_table(table: Table, *, extra: Sequence[str] = ()) -> None:
    """Fit a table to the terminal, a narrow one without columns that are extra; in a pipe, a row is a line."""
    console = open_console()
    if console.is_terminal:
        for name in extra:
            if console.width >= _NARROW or _fits(table, console):
                break
            kept = [column for column in table.columns if column.header != name]
            table.columns = [replace(column, _index=index) for index, column in enumerate(kept)]  # where rich lays it
        console.print(table, soft_wrap=False)
        return
    wide = Console(width=_UNBOUNDED, highlight=False, markup=False, emoji=False, color_system=None)
    with wide.capture() as capture:
        wide.print(table)
    click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))


def print_problems(problems: list[Problem], *, table_in_pipe: bool = False) -> None:
    """Print what is wrong and where: a row each, or a line each where a row would be broken into many."""
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


def _problem_table(problems: list[Problem]) -> Table:
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
