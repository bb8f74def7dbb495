"""Write records to other shards or to a table, and tables to shards."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.codec.encode_values import Float64
from penstock.conversion.tables import TABLES, open_tables, schema_of_csv, table_format, write_table
from penstock.dataset.dataset import Dataset
from penstock.discovery.resolve import path_texts
from penstock.errors import CorruptDataError, MalformedExampleError
from penstock.inspect.open_readers import PipeReader, open_readers
from penstock.inspect.schema import find_schema, named_schema
from penstock.integrity.problems import Problem, problem_of
from penstock.integrity.report import Report, plural
from penstock.schema import Schema
from penstock.storage import StrPath, is_remote, path_text
from penstock.writing.write import write


@dataclass(frozen=True)
class ConvertReport(Report):
    """What :func:`convert` wrote.

    >>> report = ps.convert("train", "part.csv", columns=["label"], limit=10, replace=True)
    >>> report.output, report.records
    ('part.csv', 10)
    """

    output: str
    records: int
    problems: tuple[Problem, ...] = ()
    """What was skipped, with ``on_error="skip"``."""

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the report as JSON values; ``advise`` returns an ``"advice"`` for each problem."""
        problems = [problem._document(advise) for problem in self.problems]
        return {"output": self.output, "records": self.records, "problems": problems}

    def __str__(self) -> str:
        return "\n".join([*map(str, self.problems), f"{self.output}: {plural(self.records, 'record')}"])


def convert(
    paths: StrPath | Iterable[StrPath],
    output: StrPath,
    *,
    schema: Schema | StrPath | None = None,
    infer: bool = False,
    infer_records: int | None = 1000,
    columns: Sequence[str] | None = None,
    shuffle: int | None = None,
    skip: int = 0,
    limit: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    shards: int = 1,
    output_compression: str | None = None,
    float64: Float64 | None = None,
    replace: bool = False,
    compression: str | None = "auto",
    max_record_bytes: int = 1 << 30,
) -> ConvertReport:
    """Write records to other shards or to a table, or tables to shards.

    >>> print(ps.convert("train", "train.parquet", replace=True))
    train.parquet: 100 records

    A copy of records has the schema of its source, and images as they are stored. In a table, images are their bytes,
    in JSON Lines as base64.

    Args:
        paths: Files of records, as for :class:`penstock.Dataset`; or tables of one format.
        output: A table, by its extension: ``.parquet``, ``.arrow``, ``.feather``, ``.csv``, ``.jsonl``; or a
            dataset by its name, ``data/train``.
        schema: The schema, or a file that holds one. By default that of the dataset, or of the table.
        infer: Infer the schema from the records, even if there is a schema file.
        infer_records: Records to infer it from, spread over the files; None takes all.
        columns: The features to write; by default all.
        shuffle: A seed: write the examples in random order.
        skip: Examples to skip, after the shuffle.
        limit: Examples to write at most.
        on_error: What damage does, or a record that does not fit the schema: ``"raise"``, so that nothing is written;
            or ``"skip"``, which makes it a problem of the report.
        shards: Files of a dataset.
        output_compression: Of the files of a dataset: ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"``, or None for none.
        float64: What becomes of float64 in a table: ``"float32"`` rounds it, ``"raw"`` stores its bytes.
        replace: Replace an output that exists.
        compression: How the files are compressed; ``"auto"`` detects it from their content.
        max_record_bytes: A longer record is damage, whatever its header says.

    Raises:
        FileExistsError: The output exists, and ``replace`` is False.
        ValueError: The arguments contradict each other.
    """
    names, target = path_texts(paths), path_text(output)
    _check_output(target, names)
    writing: dict[str, Any] = {"shards": shards, "compression": output_compression or "", "replace": replace}
    if all(map(table_format, names)):
        if columns or skip or limit is not None:
            raise ValueError("a table is converted whole: leave out columns, skip and limit")
        described = None if schema is None else named_schema(schema).schema
        if described is None and table_format(names[0]) == "csv":
            described = schema_of_csv(names, float64)
        table = open_tables(names, described)
        manifest = write(target, table, schema=described, shuffle=shuffle, float64=float64, **writing)
        return ConvertReport(target, manifest.records)
    readers, problems = open_readers(names, compression=compression, max_record_bytes=max_record_bytes)
    for problem in problems:  # an output without this file would look complete
        raise problem.error or FileNotFoundError(errno.ENOENT, problem.cause, problem.path)
    if any(isinstance(reader, PipeReader) for reader in readers):
        raise ValueError("records are converted from files: save the data of the pipe to a file first")
    found = named_schema(schema) if schema is not None else find_schema(readers, infer=infer, records=infer_records)
    skipped: dict[tuple[str | None, int | None], Problem] = {}

    def note(error: CorruptDataError | MalformedExampleError) -> None:
        # The first elements are read twice: for the schema, then for the output.
        skipped.setdefault((error.path, error.record), problem_of(error.path or "", error))

    dataset: Dataset = Dataset(
        [reader.path for reader in readers],
        schema=found.schema,
        columns=columns or None,
        compression=compression,
        max_record_bytes=max_record_bytes,
        on_error=note if on_error == "skip" else "raise",
    )
    chosen = dataset if shuffle is None else dataset.shuffle(seed=shuffle)
    chosen = chosen.skip(skip) if skip else chosen
    chosen = chosen if limit is None else chosen.take(limit)
    if table_format(target) is None:
        records = write(target, chosen, **writing).records
    else:
        if os.path.exists(target) and not replace:
            raise FileExistsError(errno.EEXIST, "the output exists: replace=True replaces it", target)
        records = write_table(chosen._open_arrow(), target)
    return ConvertReport(target, records, tuple(skipped.values()))


def _check_output(output: str, paths: list[str]) -> None:
    extension = os.path.splitext(output)[1]
    is_table = table_format(output) is not None
    if extension[1:].isalpha() and not is_table:
        raise ValueError(f"unknown extension {extension}: a table is {TABLES}, a dataset has no extension")
    if is_table and is_remote(output):
        raise ValueError("a table is written to a local file: copy it from there")
    if is_table and all(map(table_format, paths)):
        raise ValueError("a table becomes a dataset: give it a name without an extension, data/train")
