"""The options that choose a schema: --schema, --infer and --infer-records."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from penstock.cli.options import ReadingArguments, renamed_option
from penstock.cli.output import complain, printable, usage_errors
from penstock.cli.problem_advice import LOOK_AT_BYTES
from penstock.inspect.open_readers import open_readers
from penstock.inspect.schema import DescribedSchema, find_schema, named_schema
from penstock.integrity.problems import Problem
from penstock.integrity.report import plural
from penstock.records.reader import RecordReader


@dataclass(frozen=True)
class SchemaChoice:
    """Which schema the user wants."""

    file: str | None
    infer: bool
    records: int | None

    @property
    def arguments(self) -> dict[str, Any]:
        """The same as keyword arguments of the functions that the commands call."""
        return {"schema": self.file, "infer": self.infer, "infer_records": self.records}

    def find(self, readers: Sequence[RecordReader]) -> DescribedSchema:
        """Return the schema that was named, or that of the files, or infer it."""
        if self.file is not None:
            return named_schema(self.file)
        return find_schema(readers, infer=self.infer, records=self.records)


def advice_on_schema(described: DescribedSchema | None) -> str:
    """Return what to do about a record that does not fit a schema."""
    if described is None or (described.inferred is not None and described.inferred.complete):
        return LOOK_AT_BYTES  # such a schema fits all records that are Examples
    if described.inferred is None:
        return f"the schema is {described.origin}; to look at the records without it, use --infer"
    return f"the schema is {described.origin}; to infer it from all of them, use --infer-records all"


def open_or_complain(
    paths: Iterable[str], reading: ReadingArguments, problems: list[Problem], **options: Any
) -> list[RecordReader]:
    """Open files; report those that do not exist, and add them to ``problems``."""
    with usage_errors():
        readers, missing = open_readers(paths, **reading, **options)
    for problem in missing:
        complain(problem)
    problems += missing
    return readers


def title_of(paths: Sequence[str]) -> str:
    """Return the title of a group of files: its first file, and how many more there are."""
    more = f" and {plural(len(paths) - 1, 'more file')}" if len(paths) > 1 else ""
    return f"{printable(paths[0])}{more}"


class _Records(click.ParamType[int | None]):
    name = "N|all"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int | None:
        if value == "all":
            return None
        try:
            number = int(value)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"{value!r} is neither a number of records, 1 or more, nor 'all'.", parameter, context)
        return number


def schema_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose the schema; the command is called with ``choice``."""

    @functools.wraps(command)
    def run(schema_file: str | None, infer: bool, infer_records: int | None, **rest: Any) -> None:
        if schema_file is not None and infer:
            raise click.UsageError("--schema and --infer exclude each other: choose one.")
        command(choice=SchemaChoice(schema_file, infer, infer_records), **rest)

    for decorate in (
        renamed_option("--records", "--infer-records"),
        click.option(
            "--infer-records",
            type=_Records(),
            default="1000",
            show_default=True,
            help="Records to infer the schema from, spread over the files.",
        ),
        click.option("--infer", is_flag=True, help="Infer the schema, even if there is a schema file."),
        click.option(
            "--schema",
            "schema_file",
            metavar="FILE",
            help="The schema: a schema file or manifest of Penstock, a schema.pbtxt, or a features.json of TFDS. "
            "By default the one in the folder of the files, or else inferred.",
        ),
    ):
        run = decorate(run)
    return run
