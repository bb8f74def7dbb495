"""Arguments and options that all commands have."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import click

from penstock._core import RecordChunk
from penstock.compression import Compression, check
from penstock.records.reader import OnError, RecordReader

COMPRESSIONS = {"auto": "auto", "none": "", "gzip": "GZIP", "zlib": "ZLIB", "snappy": "SNAPPY"}


@dataclass(frozen=True)
class Reading:
    """How the user wants files to be read."""

    compression: str
    max_record_bytes: int

    @property
    def kind(self) -> Compression | None:
        """The compression that the user says there is; None: tell by content."""
        return None if self.compression == "auto" else check(self.compression)

    def open(
        self,
        path: str,
        *,
        on_error: OnError = "raise",
        threads: int | None = None,
        kind: type[RecordReader] = RecordReader,
    ) -> RecordReader:
        return kind(
            path,
            compression=self.compression,
            max_record_bytes=self.max_record_bytes,
            on_error=on_error,
            threads=threads,
        )


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add PATH... and how to read; the command is called with ``paths`` and ``reading``."""

    @functools.wraps(command)  # with the options that were added before
    def run(compression: str, max_record_bytes: int, **rest: Any) -> None:
        command(reading=Reading(COMPRESSIONS[compression], max_record_bytes), **rest)

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
            help="How the files are compressed; auto tells by content.",
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


class Window:
    """Passes over records, then lets some through, over any number of files."""

    def __init__(self, skip: int, limit: int | None) -> None:
        self.skip = skip
        self.limit = limit

    def cut(self, chunks: Iterator[RecordChunk]) -> Iterator[RecordChunk]:
        """Let through what of these chunks is in the window."""
        for chunk in chunks:
            passed = min(self.skip, len(chunk))
            self.skip -= passed
            stop = len(chunk) if self.limit is None else min(len(chunk), passed + self.limit)
            if stop > passed:
                yield chunk[passed:stop]
            if self.limit is not None:
                self.limit -= stop - passed
                if self.limit == 0:
                    return
