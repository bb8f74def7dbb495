"""The table that ``make reliability`` prints."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One line: what was measured, and what it came to; the peer's is empty where the question does not apply."""

    what: str
    trials: int
    ours: str
    theirs: str = ""
    holds: bool = True
    """Whether ours is what is promised."""


def of(count: int, total: int) -> str:
    return f"{count:,} of {total:,}"


def show(figures: list[Figure], peer: str) -> None:
    table = Table(title="Reliability", title_justify="left")
    table.add_column("Measured")
    table.add_column("Trials", justify="right")
    table.add_column("Penstock", justify="right")
    table.add_column(peer, justify="right")
    for figure in figures:
        style = "" if figure.holds else "bold red"
        table.add_row(figure.what, f"{figure.trials:,}", figure.ours, figure.theirs, style=style)
    Console(width=None if Console().is_terminal else 120).print(table)
