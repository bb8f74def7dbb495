"""Finds what describes the records: a schema that was named, one beside the files, or the records themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import click

from penstock._core import RecordChunk
from penstock.cli.options import Reading
from penstock.cli.output import complain, plural, printable
from penstock.cli.problems import LOOK_AT_BYTES, Problem
from penstock.cli.work import expand
from penstock.discovery.infer import infer_from
from penstock.discovery.resolve import find_sidecar, load_schema
from penstock.errors import CorruptDataError, PenstockError
from penstock.records.reader import OnError, RecordReader
from penstock.schema import Schema
from penstock.schema.inference import Inferred
from penstock.schema.observations import read_features
from penstock.storage import locate
from penstock.storage.shard_names import dataset_of


@dataclass(frozen=True)
class Described:
    """A schema, and where it comes from."""

    schema: Schema
    origin: str
    inferred: Inferred | None = None

    @property
    def advice(self) -> str:
        """What to do about a record that the schema does not fit."""
        if self.inferred is None:
            return f"the schema is {self.origin}; to look at the records without it, use --infer"
        if self.inferred.complete:
            return LOOK_AT_BYTES  # it fits all that are Examples
        return f"the schema is {self.origin}; to draw it from all of them, use --records all"


@dataclass(frozen=True)
class SchemaChoice:
    """Which schema the user wants."""

    file: str | None
    infer: bool
    records: int | None

    def find(self, readers: Sequence[RecordReader]) -> Described:
        """Return the schema that was named, else the one that lies beside all files, else what their records show."""
        if self.file is not None:
            return Described(load_schema(self.file), f"read from {self.file}")
        if not self.infer and readers:
            beside = list(dict.fromkeys(find_sidecar(reader.path) for reader in readers))
            schemas = [load_schema(path) for path in beside if path is not None]
            if len(schemas) == len(beside) and all(schema == schemas[0] for schema in schemas):
                return Described(schemas[0], f"read from {', '.join(map(str, beside))}")
        return self.look(readers)

    def look(self, readers: Sequence[RecordReader]) -> Described:
        """Return what the records show; those that cannot be read do not stand in the way of the others."""
        inferred = infer_from(readers, records=self.records, on_error="skip")
        if not inferred.records:
            return Described(inferred.schema, "there are no records", inferred)
        share = "all " if inferred.complete else "the first " if len(inferred.files) <= 1 else "a sample of "
        records = plural(inferred.records, "record")
        if inferred.complete and inferred.passed_over:
            share, records = "", plural(inferred.records, "sound record")
        files = "" if len(inferred.files) <= 1 else f" of {plural(len(inferred.files), 'file')}"
        return Described(inferred.schema, f"inferred from {share}{records}{files}", inferred)


class OncePipe(RecordReader):
    """Standard input or another pipe, which flows by once: what a first look takes is there for the second."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._kept: list[RecordChunk] = []
        self._stream: Iterator[RecordChunk] | None = None
        self._error: CorruptDataError | None = None

    def chunks(self) -> Iterator[RecordChunk]:
        if self._stream is None:
            self._stream = super().chunks()
            try:
                for chunk in self._stream:
                    self._kept.append(chunk)
                    yield chunk
            except CorruptDataError as error:
                self._error = error
                raise
        else:
            while self._kept:
                yield self._kept.pop(0)
            if self._error is not None:
                raise self._error
            yield from self._stream


def open_readers(
    paths: Iterable[str], reading: Reading, problems: list[Problem], *, on_error: OnError = "raise"
) -> list[RecordReader]:
    """Open files that are read twice, for their schema and for their values; report those that are not there."""
    readers = []
    for file in expand(paths):
        if isinstance(file, Problem):
            problems.append(file)
            complain(file)
        else:
            readers.append(reading.open(file, on_error=on_error, kind=OncePipe if _flows_by(file) else RecordReader))
    return readers


def _flows_by(path: str) -> bool:
    """Whether what is read of a file is gone: it is a pipe."""
    store, name = locate(path)
    try:
        return "://" not in name and not store.stat(name).seekable
    except OSError:
        return False  # whoever reads the file tells what is wrong


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
    """Add the options that say which schema counts; the command is called with ``choice``."""

    @functools.wraps(command)
    def run(schema_file: str | None, infer: bool, records: int | None, **rest: Any) -> None:
        if schema_file is not None and infer:
            raise click.UsageError("--schema and --infer exclude each other: choose one.")
        command(choice=SchemaChoice(schema_file, infer, records), **rest)

    for decorate in (
        click.option(
            "--records",
            type=_Records(),
            default="1000",
            show_default=True,
            help="Records to infer the schema from, spread over the files.",
        ),
        click.option("--infer", is_flag=True, help="Infer the schema, even where one lies beside the files."),
        click.option(
            "--schema",
            "schema_file",
            metavar="FILE",
            help="The schema: a schema file or manifest of Penstock, a schema.pbtxt, or a features.json of TFDS. "
            "By default the one beside the files; where there is none it is inferred.",
        ),
    ):
        run = decorate(run)
    return run


FeatureKeys: TypeAlias = frozenset[tuple[str, str]]
"""The features of a record: whether in its context or its sequence, and by which name."""


def group_alike(readers: Sequence[RecordReader]) -> list[list[RecordReader]]:
    """Put files together whose records have most of their features in common, in the order of the first ones.

    Shards of one dataset are alike: of each dataset, one file is looked at.
    """
    datasets: dict[str, list[RecordReader]] = {}
    for reader in readers:
        datasets.setdefault(dataset_of(reader.path), []).append(reader)
    if len(datasets) == 1:
        return [list(readers)]
    groups: list[tuple[FeatureKeys | None, list[RecordReader]]] = []
    for shards in datasets.values():
        keys = _keys(shards[0])
        for known, group in groups:
            if _are_alike(keys, known):
                group += shards
                break
        else:
            groups.append((keys, shards))
    return [group for _, group in groups]


def title_of(group: Sequence[RecordReader]) -> str:
    """Name a group by its first file."""
    more = f" and {plural(len(group) - 1, 'more file')}" if len(group) > 1 else ""
    return f"{printable(group[0].path)}{more}"


def _are_alike(one: FeatureKeys | None, other: FeatureKeys | None) -> bool:
    if one is None or other is None:
        return False
    return not one or 2 * len(one & other) >= len(one | other)


def _keys(reader: RecordReader) -> FeatureKeys | None:
    """The features of a file, by its schema or its first record; none of an empty one, None where it is unreadable."""
    try:
        beside = find_sidecar(reader.path)
        if beside is not None:
            return _keys_of_schema(load_schema(beside))
        first = next(iter(reader), None) if not isinstance(reader, OncePipe) else None
        if first is None and reader.damage:
            return None
        return frozenset((found.section, found.key) for found in read_features(first or b""))
    except (PenstockError, OSError):
        return None  # what is wrong is told by whoever reads the file for what it holds


def _keys_of_schema(schema: Schema) -> FeatureKeys:
    sections = {"context": schema.context, "sequence": schema.sequence}
    return frozenset(
        (section, key)
        for section, features in sections.items()
        for name, feature in features.items()
        for key in (feature.key or name, *feature.partitions)
    )
