"""``penstock convert``: records to other shards or to tables, and tables to records."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from penstock.cli.options import COMPRESSIONS, Reading, feature_option, json_option, reading_options
from penstock.cli.output import plural, printable, reporting, write_json
from penstock.cli.problems import LOOK_AT_BYTES, Problem
from penstock.cli.schema_choice import OncePipe, SchemaChoice, open_readers, schema_options
from penstock.cli.tables import TABLES, open_tables, schema_of_csv, table_format, write_table
from penstock.codec.encode_values import Float64
from penstock.dataset.dataset import Dataset
from penstock.discovery.resolve import load_schema
from penstock.errors import PenstockError
from penstock.writing.write import write

_EXAMPLES = """\b
Examples:
  penstock convert data/train -o train.parquet
  penstock convert 'old-*.tfrecord.gz' -o data/train --shards 16 --shuffle 7
  penstock convert data/train -o sample.csv --shuffle 1 --limit 100 -f label
  penstock convert table.parquet -o data/train --shards 8
"""


@click.command(epilog=_EXAMPLES)
@reading_options
@schema_options
@click.option(
    "--output",
    "-o",
    metavar="OUT",
    required=True,
    help=f"A table: {TABLES}; or a dataset by its name: data/train.",
)
@feature_option
@click.option("--shuffle", type=click.IntRange(min=0), metavar="SEED", help="Put all examples in random order.")
@click.option("--skip", type=click.IntRange(min=0), default=0, help="Examples to pass over, after the shuffle.")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=None, help="Examples to write; all by default.")
@click.option("--skip-damaged", is_flag=True, help="Pass over what is damaged, or does not fit the schema.")
@click.option("--shards", type=click.IntRange(min=1), default=1, show_default=True, help="Files of a dataset.")
@click.option(
    "--pack",
    type=click.Choice([name for name in COMPRESSIONS if name != "auto"]),
    default="none",
    show_default=True,
    help="How the files of a dataset are compressed.",
)
@click.option(
    "--float64",
    type=click.Choice(["float32", "raw"]),
    help="What becomes of float64 in a table: rounded, or stored as raw bytes.",
)
@click.option("--replace", is_flag=True, help="Replace what exists.")
@json_option
def convert(
    paths: tuple[str, ...],
    reading: Reading,
    choice: SchemaChoice,
    output: str,
    features: tuple[str, ...],
    shuffle: int | None,
    skip: int,
    limit: int | None,
    skip_damaged: bool,
    float64: Float64 | None,
    as_json: bool,
    **target: Any,
) -> None:
    """Write records to other shards or to a table.

    A copy of records keeps their schema, and images as they are stored. In a table, images are their bytes, in .jsonl
    as base64. PATH may also be tables, which are written as a dataset: .parquet and .arrow with the schema that they
    were made by.
    """
    ending = os.path.splitext(output)[1]
    if ending[1:].isalpha() and not table_format(output):
        raise click.UsageError(f"Nothing is known of {ending}: a table is {TABLES}, a dataset has no extension.")
    if table_format(output) and "://" in output:
        raise click.UsageError("A table is written to a file of this machine: copy it from there.")
    problems: list[Problem] = []
    rows = 0
    if all(map(table_format, paths)):
        if table_format(output):
            raise click.UsageError("A table becomes a dataset: give it a name without an extension, data/train.")
        if features or skip or limit is not None:
            raise click.UsageError("A table is written whole, without --feature, --skip and --limit.")
        with reporting(paths, problems), _told_in_a_line():
            schema = None if choice.file is None else load_schema(choice.file)
            if schema is None and table_format(paths[0]) == "csv":
                schema = schema_of_csv(paths, float64)
            table = open_tables(paths, schema)
            rows = _write_records(output, table, target, schema=schema, shuffle=shuffle, float64=float64)
    elif (readers := open_readers(paths, reading, problems)) and not problems:  # a part would look like the whole
        if any(isinstance(reader, OncePipe) for reader in readers):
            raise click.UsageError("Records are converted from files: save what comes through the pipe to one.")
        with reporting([reader.path for reader in readers], problems, malformed_advice=LOOK_AT_BYTES):
            dataset = Dataset(
                [reader.path for reader in readers],
                schema=choice.find(readers).schema,
                columns=features or None,
                compression=reading.compression,
                max_record_bytes=reading.max_record_bytes,
                on_error=_reporter(problems) if skip_damaged else "raise",
            )
            chosen = dataset if shuffle is None else dataset.shuffle(shuffle)
            chosen = chosen.skip(skip) if skip else chosen
            chosen = chosen if limit is None else chosen.take(limit)
            with _told_in_a_line():
                to_table = table_format(output) is not None
                rows = (_write_table if to_table else _write_records)(output, chosen, target)
    _report(output, rows, problems, as_json)


def _write_records(output: str, data: Any, target: dict[str, Any], **options: Any) -> int:
    pack = COMPRESSIONS[target["pack"]]
    return write(output, data, shards=target["shards"], compression=pack, replace=target["replace"], **options).records


def _write_table(output: str, dataset: Dataset, target: dict[str, Any]) -> int:
    if os.path.exists(output) and not target["replace"]:
        raise FileExistsError
    return write_table(dataset._open_arrow(), output)


@contextmanager
def _told_in_a_line() -> Iterator[None]:
    """Say what cannot be converted, and what stands in the way, as an error in what was asked for."""
    try:
        # What is passed over is told record by record, and not summed up once more.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            yield
    except FileExistsError:
        raise click.UsageError("What --output names exists: --replace replaces it.") from None
    except (TypeError, ValueError) as error:
        if isinstance(error, PenstockError):
            raise
        raise click.UsageError(printable(str(error))) from None


def _reporter(problems: list[Problem]) -> Callable[[Any], None]:
    told = set()

    def report(error: Any) -> None:
        # The first elements are looked at before all are written.
        if (place := (error.path, error.record)) not in told:
            told.add(place)
            with reporting([error.path or ""], problems):
                raise error

    return report


def _report(output: str, rows: int, problems: list[Problem], as_json: bool) -> None:
    if as_json:
        found = [problem.as_json() for problem in problems]
        write_json({"output": output, "records": rows, "problems": found})
    elif rows or not problems:
        click.echo(f"{printable(output)}: {plural(rows, 'record')}")
    click.get_current_context().exit(1 if problems else 0)
