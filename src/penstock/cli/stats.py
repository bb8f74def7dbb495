"""``penstock stats``: what all records of files hold, in numbers."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np
from rich.text import Text

from penstock._core import RecordChunk
from penstock.cli.options import Reading, feature_option, json_option, reading_options
from penstock.cli.output import (
    open_console,
    plain_table,
    plural,
    print_table,
    printable,
    reporting,
    size_text,
    write_json,
)
from penstock.cli.problems import LOOK_AT_BYTES, Problem
from penstock.cli.schema_choice import Described, SchemaChoice, group_alike, open_readers, schema_options, title_of
from penstock.cli.summary import Extent, Summary
from penstock.cli.work import on_each
from penstock.codec.decoder import Decoder
from penstock.errors import MalformedExampleError
from penstock.parallel import FileProgress
from penstock.records.reader import RecordReader
from penstock.schema.schema import keep_lists
from penstock.storage import locate

_EXAMPLES = """\b
Examples:
  penstock stats train.tfrecord
  penstock stats 'data/train-*.tfrecord' --feature label --feature score
  penstock stats data/ --json | jq .features.label.values
"""

_LARGEST = 5


@dataclass
class Totals:
    """What is known of all records before they are decoded."""

    sizes: Extent = field(default_factory=Extent)
    largest: list[tuple[int, str, int]] = field(default_factory=list)
    """Size, path and number of the largest records."""

    def add(self, chunk: RecordChunk, path: str) -> None:
        sizes = chunk.spans[:, 1]
        self.sizes.add(sizes)
        order = (-sizes.astype(np.int64)).argsort(kind="stable")[:_LARGEST].tolist()  # of equals, the first
        found = [(int(sizes[i]), path, chunk.first_record + i) for i in order]
        self.largest = heapq.nlargest(_LARGEST, [*self.largest, *found], key=lambda record: record[0])


@click.command(epilog=_EXAMPLES)
@reading_options
@schema_options
@feature_option
@json_option
def stats(
    paths: tuple[str, ...], reading: Reading, choice: SchemaChoice, features: tuple[str, ...], as_json: bool
) -> None:
    """Sum up all records of files, in numbers and histograms.

    Counts, missing values, min, mean and max, histograms, and the largest records.

    Files that have little in common are summed up each by itself, except with --json.

    Features are taken as the lists that they are stored in, of any length; of bytes, and so of encoded images, the
    sizes are summed up. Raw arrays have values.
    """
    problems: list[Problem] = []
    readers = open_readers(paths, reading, problems)
    groups = [readers] if as_json or choice.file is not None else group_alike(readers)
    gap = ""
    for group in filter(None, groups):
        with reporting([reader.path for reader in group], problems, malformed_advice=LOOK_AT_BYTES):
            described = choice.find(group)
            decoder = Decoder(
                keep_lists(described.schema), columns=features or None, strict=described.inferred is not None
            )
            totals = Totals()
            summaries = {name: Summary(feature) for name, feature in decoder.schema.items()}
            _sum_up(group, decoder, totals, summaries, problems, described.advice)
            unread = {problem.path for problem in problems if not problem.record}
            files = sum(reader.path not in unread for reader in group)
            if as_json:
                write_json(_as_json(files, described, totals, summaries, problems))
            else:
                if len(groups) > 1:
                    open_console().print(Text(gap + title_of(group), "bold"))
                    gap = "\n"
                _print(files, described, totals, summaries)
    click.get_current_context().exit(1 if problems else 0)


def _sum_up(
    readers: Sequence[RecordReader],
    decoder: Decoder,
    totals: Totals,
    summaries: dict[str, Summary],
    problems: list[Problem],
    advice: str,
) -> None:
    def add(path: str, chunk: RecordChunk) -> None:
        batch = decoder.decode(chunk)
        totals.add(chunk, path)
        for name, summary in summaries.items():
            summary.add(batch[name])

    def work(reader: RecordReader, ticker: FileProgress) -> None:
        with reporting([reader.path], problems, malformed_advice=advice):
            # A chunk is about a megabyte, or one large record: memory is bounded, whatever the file's size.
            for chunk in _ticking(reader, ticker):
                try:
                    add(reader.path, chunk)
                except MalformedExampleError as error:
                    good = (error.record or 0) - chunk.first_record
                    if good > 0:
                        add(reader.path, chunk[:good])
                    raise

    # One file at a time: reading and decoding have threads of their own.
    on_each(list(readers), work, jobs=1, title="reading")


def _ticking(reader: RecordReader, ticker: FileProgress) -> Iterator[RecordChunk]:
    """The chunks of a file, while its part of the progress bar fills."""
    file_size = locate(reader.path)[0].stat(reader.path).size
    done = 0.0
    for chunk in reader.chunks():
        yield chunk
        if file_size:
            size = int(chunk.spans[:, 1].sum()) + 16 * len(chunk)
            now = min(0.99, done + size / file_size)
            ticker.advance(now - done, len(chunk))
            done = now
    ticker.advance(1 - done)


def _as_json(
    files: int,
    described: Described,
    totals: Totals,
    summaries: dict[str, Summary],
    problems: list[Problem],
) -> dict[str, Any]:
    return {
        "files": files,
        "records": totals.sizes.count,
        "bytes": int(totals.sizes.total),
        "sizes": totals.sizes.as_json(),
        "schema": described.origin,
        "features": {name: summary.as_json() for name, summary in summaries.items()},
        "largest": [{"path": path, "record": record, "bytes": size} for size, path, record in totals.largest],
        "problems": [problem.as_json() for problem in problems],
    }


def _print(files: int, described: Described, totals: Totals, summaries: dict[str, Summary]) -> None:
    console = open_console()
    sizes = f", each {_range(totals.sizes)} bytes" if totals.sizes.count else ""
    records = f"{plural(totals.sizes.count, 'record')} in {plural(files, 'file')}"
    console.print(Text(f"{records}, {size_text(totals.sizes.total)}{sizes}"))
    console.print(Text(printable(f"schema: {described.origin}"), "dim"))
    console.print()
    numbers = ("missing", "per record", "min", "mean", "max")
    table = plain_table("feature", "type", *numbers, "histogram", right=numbers)
    for name, summary in summaries.items():
        unit = " B" if summary.feature.dtype == "bytes" else ""
        steps = f"{_range(summary.steps)} steps, " if summary.steps.count else ""
        values = (summary.values.least, summary.values.mean, summary.values.most)
        notes = f"  {plural(summary.not_finite, 'value')} not finite" if summary.not_finite else ""
        table.add_row(
            Text(printable(name), "cyan"),
            summary.feature.dtype,
            f"{summary.missing:,}" if summary.missing else "",
            f"{steps}{_range(summary.lengths)}",
            *("" if value is None else f"{_number(value)}{unit}" for value in values),
            Text.assemble((str(summary.histogram), "green"), (notes, "yellow")),
        )
    print_table(table, extra=("histogram", "per record", "missing"))
    if totals.largest:
        console.print()
    for size, path, record in totals.largest:
        console.print(Text(printable(f"largest: {path}, record {record}: {size:,} bytes")))


def _range(extent: Extent) -> str:
    if extent.least is None or extent.most is None:
        return ""
    return f"{extent.least:,}" if extent.least == extent.most else f"{extent.least:,} to {extent.most:,}"


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) < 10**9:
        return f"{value:,}"
    return f"{value:,.1f}".removesuffix(".0") if 1000 <= abs(value) < 10**9 else f"{value:.4g}"  # no 1e+04
