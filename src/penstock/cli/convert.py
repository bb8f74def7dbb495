"""``penstock convert``: records to other shards or to tables, and tables to records."""

from __future__ import annotations

import warnings
from typing import Any

import click

from penstock.cli.options import (
    COMPRESSIONS,
    ReadingArguments,
    json_option,
    reading_options,
    renamed_option,
)
from penstock.cli.output import complain, exit_with, printable, reporting, usage_errors, write_report
from penstock.cli.problem_advice import LOOK_AT_BYTES
from penstock.cli.schema_choice import SchemaChoice, schema_options
from penstock.conversion.convert import FORMATS, ConvertReport
from penstock.conversion.convert import convert as convert_files
from penstock.conversion.table_stream import TABLES
from penstock.integrity.problems import Problem
from penstock.integrity.report import plural

_EXAMPLES = """\b
Examples:
  penstock convert data/train -o train.parquet
  penstock convert 'old-*.tfrecord.gz' -o data/train --shards 16 --shuffle 7
  penstock convert data/train -o sample.csv --shuffle 1 --limit 100 -f label
  penstock convert table.parquet -o data/train --shards 8
  penstock convert photos/ -o data/photos --split file_name:80/10/10
  penstock convert data/ -o data/small --where 'label == 3' --drop score
  penstock convert 'shards/*.tar' -o data/train
  penstock convert data/train -o data/shuffled --shuffle 7 --memory 4GB
  penstock convert data/train -o data/digits/1.0.0 --to tfds --split 90/10
  penstock convert data/train -o - --limit 3 | jq .label
"""


@click.command(epilog=_EXAMPLES)
@reading_options
@schema_options
@click.option(
    "--output",
    "-o",
    metavar="OUT",
    required=True,
    help=f"A table: {TABLES}; a dataset by its name: data/train; one file: train.tfrecord; or -, standard output.",
)
@click.option(
    "--feature",
    "-f",
    "--select",
    "features",
    metavar="NAME",
    multiple=True,
    help="Only this feature; may be given again.",
)
@click.option("--drop", metavar="NAME", multiple=True, help="Leave out this feature; may be given again.")
@click.option("--rename", metavar="OLD=NEW", multiple=True, help="Rename a feature; may be given again.")
@click.option("--where", metavar="CONDITION", help="Which examples to write: 'label == 3 and height > 200'.")
@click.option(
    "--unique",
    metavar="NAME",
    multiple=True,
    help="The first example of each value; may be repeated. '*': of all features.",
)
@click.option("--sort", metavar="NAME", multiple=True, help="Order by this feature; may be given again.")
@click.option("--descending", is_flag=True, help="Sort the largest first.")
@click.option("--shuffle", type=click.IntRange(min=0), metavar="SEED", help="Write all examples in random order.")
@click.option("--skip", type=click.IntRange(min=0), default=0, help="Examples to skip, after the shuffle.")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=None, help="Examples to write; all by default.")
@click.option("--skip-damaged", is_flag=True, help="Skip damage, and records that do not fit the schema.")
@click.option(
    "--split",
    metavar="[NAME:]80/10/10",
    help="Write OUT-train, OUT-val and OUT-test; a hash of the feature decides. NAME:a=9/b=1 names the parts.",
)
@click.option("--shards", type=click.IntRange(min=1), default=None, help="Files of a dataset; 1 by default.")
@click.option("--rows-per-shard", type=click.IntRange(min=1), default=None, help="Examples in each file.")
@click.option("--shard-size", "shard_bytes", metavar="SIZE", help="Size of each file before compression: 256MB.")
@click.option(
    "--output-compression",
    type=click.Choice([name for name in COMPRESSIONS if name != "auto"]),
    default="none",
    show_default=True,
    help="How to compress the files of a dataset.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    default="1GB",
    show_default=True,
    help="For copying records as they are stored; what does not fit goes through temporary files.",
)
@renamed_option("--pack", "--output-compression")
@click.option(
    "--float64",
    type=click.Choice(["float32", "raw"]),
    help="What becomes of float64 in a table: rounded, or stored as raw bytes.",
)
@click.option("--replace", is_flag=True, help="Replace an output that exists.")
@click.option(
    "--to",
    type=click.Choice(FORMATS),
    help="The format of the output, if its name does not show it. Standard output has jsonl by default.",
)
@json_option
def convert(
    paths: tuple[str, ...],
    reading: ReadingArguments,
    choice: SchemaChoice,
    output: str,
    features: tuple[str, ...],
    rename: tuple[str, ...],
    unique: tuple[str, ...],
    skip_damaged: bool,
    output_compression: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Write records, tables, pictures or tars in another format.

    PATH may be records; tables (also .csv.gz and .jsonl.gz); a folder of pictures, in a folder for each class or with a
    metadata.csv that names them in the column file_name; WebDataset tars; or a folder of Hugging Face datasets.

    A copy of records has the schema of its source, and images as they are stored. In a table, images are their bytes,
    in .jsonl as base64. Tables with the schema that they were made from, .parquet and .arrow, become the same records.
    """
    if as_json and output == "-":
        raise click.UsageError("--json writes to standard output, and so does -o -: choose one.")
    problems: list[Problem] = []
    report = ConvertReport(output, 0)
    with reporting(paths, problems, malformed_advice=LOOK_AT_BYTES), usage_errors(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # skipped records are reported one by one
        report = convert_files(
            paths,
            output,
            **reading,
            **choice.arguments,
            columns=features or None,
            rename=dict(map(_old_and_new, rename)),
            unique=None if not unique else [] if unique == ("*",) else unique,
            on_error="skip" if skip_damaged else "raise",
            output_compression=COMPRESSIONS[output_compression],
            progress=True,
            **options,
        )
        for problem in report.problems:
            complain(problem)
    problems += report.problems
    if as_json:
        write_report(ConvertReport(output, report.records, tuple(problems), report.parts))
    elif report.records or not problems:
        parts = [f"  {name}: {plural(records, 'record')}" for name, records in report.parts.items()]
        lines = [f"{output}: {plural(report.records, 'record')}", *parts]
        click.echo("\n".join(map(printable, lines)), err=output == "-")
    exit_with(problems)


def _old_and_new(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise click.UsageError(f"--rename is OLD=NEW, not {text!r}.")
    return old, new
