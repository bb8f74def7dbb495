"""``penstock schema``: the features of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import click
from rich.text import Text

from penstock.cli.options import ReadingArguments, reading_options
from penstock.cli.output import exit_with, open_console, plain_table, print_table, printable, reporting
from penstock.cli.problem_advice import LOOK_AT_BYTES
from penstock.cli.schema_choice import SchemaChoice, open_or_complain, schema_options, title_of
from penstock.inspect.schema import DescribedSchema, group_alike, infer_described
from penstock.integrity.problems import Problem
from penstock.records.reader import RecordReader
from penstock.schema import Feature, Schema
from penstock.schema.inference import Evidence, Inferred
from penstock.schema.observed_features import Section

_EXAMPLES = """\b
Examples:
  penstock schema train.tfrecord
  penstock schema 'data/train-*.tfrecord' --infer-records all
  penstock schema train.tfrecord --format json > train.schema.json
  penstock schema train.tfrecord --format tf
"""

_FORMATS: dict[str, Callable[[Schema], str]] = {
    "json": lambda schema: schema.to_json(),
    "pbtxt": lambda schema: schema.to_pbtxt(),
    "tf": lambda schema: schema.to_tf_source(),
    "arrow": lambda schema: "\n".join(_arrow_field(field) for field in schema.to_arrow()),
    "tfds": lambda schema: schema.to_tfds(),
}


@click.command(epilog=_EXAMPLES)
@reading_options
@schema_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", *_FORMATS]),
    default="table",
    show_default=True,
    help="json: a schema file of Penstock. pbtxt: TensorFlow Metadata. tf: a tf.io feature description, as Python "
    "source. arrow: the Arrow schema of the columns. tfds: features.json.",
)
def schema(paths: tuple[str, ...], reading: ReadingArguments, choice: SchemaChoice, form: str) -> None:
    """Show what files hold: features, types, shapes, presence.

    The schema is read from the manifest or schema file in the folder of the files, or else inferred from the records.
    Features that some records lack are optional. Files that have little in common have a table each.
    """
    problems: list[Problem] = []
    readers = open_or_complain(paths, reading, problems, on_error="skip")
    groups = group_alike(readers) if form == "table" and choice.file is None else [readers]
    gap = ""
    for group in filter(None, groups):
        with reporting([reader.path for reader in group], problems, malformed_advice=LOOK_AT_BYTES):
            _show(
                group,
                choice,
                form,
                "" if len(groups) == 1 else gap + title_of([reader.path for reader in group]),
                problems,
            )
            gap = "\n"
    exit_with(problems)


def _show(
    readers: Sequence[RecordReader], choice: SchemaChoice, form: str, title: str, problems: list[Problem]
) -> None:
    described = choice.find(readers)
    if form != "table":
        click.echo(_FORMATS[form](described.schema).rstrip("\n"))
        return
    # A schema that was not inferred has neither presence nor a sample.
    seen = described.inferred or infer_described(readers, choice.records).inferred
    assert seen is not None
    if title:
        open_console().print(Text(title, "bold"))
    _print(described, seen)
    for path, errors in groupby(seen.skipped, lambda error: getattr(error, "path", None)):
        with reporting([path or ""], problems, malformed_advice=LOOK_AT_BYTES):
            raise next(errors)


def _arrow_field(field: Any) -> str:
    return f"{printable(field.name)}: {field.type}{'' if field.nullable else ' not null'}"


def _print(described: DescribedSchema, seen: Inferred) -> None:
    evidence = {(found.section, found.key): found for found in seen.evidence.values()}
    table = plain_table("name", "dtype", "shape", "encoding", "presence", "sure", "sample")
    notes = []
    for name, feature in described.schema.items():
        section: Section = "sequence" if name in described.schema.sequence else "context"
        found = evidence.pop((section, name if feature.key is None else feature.key), None)
        table.add_row(
            Text(printable(name), "cyan"),
            feature.dtype,
            _shape(feature, section == "sequence"),
            feature.encoding,
            _presence(found, seen.records),
            "declared" if described.inferred is None else found.certainty if found else "",
            Text(printable(_sample(found, feature) if found else "")),
        )
        if described.inferred is not None and found is not None and found.suggestion:
            notes.append(f"{name}: {found.suggestion}")
    partitions = {key for feature in described.schema.values() for key in feature.partitions}
    notes += [f"{found.key}: {_beyond(found)}" for (_, key), found in evidence.items() if key not in partitions]
    print_table(table, extra=("sample",))
    console = open_console()
    for note in notes:
        console.print(Text(printable(note), "yellow"), soft_wrap=not console.is_terminal)
    kind = "SequenceExamples" if described.schema.is_sequence else "Examples"
    console.print(Text(printable(f"{kind}; {described.origin}"), "dim"))


def _shape(feature: Feature, is_sequence: bool) -> str:
    sizes = ["?" if size is None else str(size) for size in feature.shape]
    return f"({', '.join(['steps', *sizes] if is_sequence else sizes)})"


def _sample(found: Evidence, feature: Feature) -> str:
    if feature.dtype != "bool" or feature.encoding != "list":
        return found.sample
    # An Example stores booleans as integers.
    return re.sub(r"-?\d+", lambda number: str(int(number[0]) != 0), found.sample)


def _presence(found: Evidence | None, records: int) -> str:
    if found is None or found.present == 0:
        return "never"
    return "always" if found.present == records else f"{100 * found.present / records:.3g} %"


def _beyond(found: Evidence) -> str:
    """Return why a feature of the records is not in the schema."""
    return "unset in all records" if found.kind is None else f"{found.kind}, not in the schema"
