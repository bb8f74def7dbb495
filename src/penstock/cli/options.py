"""Arguments and options that commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import click

from penstock._core import RecordChunk

COMPRESSIONS = {"auto": "auto", "none": "", "gzip": "GZIP", "zlib": "ZLIB", "snappy": "SNAPPY"}


ReadingArguments: TypeAlias = dict[str, Any]
"""How to read files: ``compression`` and ``max_record_bytes``, as the functions that the commands call take them."""


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add PATH... and the options for reading; the command is called with ``paths`` and ``reading``."""

    @functools.wraps(command)  # with the options that were added before
    def run(compression: str, max_record_bytes: int, **rest: Any) -> None:
        reading = {"compression": COMPRESSIONS[compression], "max_record_bytes": max_record_bytes}
        command(reading=reading, **rest)

    # The last one applied is shown first.
    for decorate in (
        click.option(
            "--max-record-bytes",
            type=click.IntRange(min=0),
            default=1 << 30,
            show_default=True,
            help="A longer record is damage, whatever its header says.",
        ),
        click.option(
            "--compression",
            type=click.Choice(list(COMPRESSIONS), case_sensitive=False),
            default="auto",
            show_default=True,
            help="How the files are compressed; auto detects it.",
        ),
        click.argument("paths", metavar="PATH...", nargs=-1, required=True),
    ):
        run = decorate(run)
    return run


json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON, for programs.")
jobs_option = click.option(
    "--jobs", "-j", type=click.IntRange(min=1), default=None, help="Files read at once; by default one per CPU core."
)
feature_option = click.option(
    "--feature", "-f", "features", metavar="NAME", multiple=True, help="Only this feature; may be given again."
)


def renamed_option(old: str, new: str, *, is_flag: bool = False) -> Callable[[Any], Any]:
    """Add an option that was renamed: it fails, and names the new one."""

    def fail(context: click.Context, parameter: click.Parameter, value: object) -> None:
        if value:
            raise click.UsageError(f"{old} is now {new}.", context)

    return click.option(old, is_flag=is_flag, hidden=True, expose_value=False, callback=fail, is_eager=True)


class Window:
    """Skips records, then takes some, over any number of files."""

    def __init__(self, skip: int, limit: int | None) -> None:
        self.skip = skip
        self.limit = limit

    def cut(self, chunks: Iterator[RecordChunk]) -> Iterator[RecordChunk]:
        """Yield the records of these chunks that are in the window."""
        for chunk in chunks:
            start = min(self.skip, len(chunk))
            self.skip -= start
            stop = len(chunk) if self.limit is None else min(len(chunk), start + self.limit)
            if stop > start:
                yield chunk[start:stop]
            if self.limit is not None:
                self.limit -= stop - start
                if self.limit == 0:
                    return
