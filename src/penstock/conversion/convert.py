"""Write records, tables, pictures and tars in another format."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from penstock.codec.encode_values import Float64
from penstock.conversion.reshape import choose
from penstock.conversion.sources import open_stream
from penstock.conversion.table_stream import TABLES, table_format
from penstock.conversion.write_tables import write_table
from penstock.dataset.dataset import Dataset
from penstock.discovery.resolve import path_texts
from penstock.errors import CorruptDataError, MalformedExampleError
from penstock.inspect.open_readers import PipeReader, open_readers
from penstock.inspect.schema import find_schema, named_schema
from penstock.integrity.problems import Problem, problem_of
from penstock.integrity.report import Report, plural
from penstock.schema import Schema
from penstock.storage import StrPath, is_remote, path_text
from penstock.writing.inputs import count_rows
from penstock.writing.write import write

OutputFormat: TypeAlias = Literal["tfrecord", "parquet", "arrow", "csv", "tsv", "jsonl"]
"""What :func:`convert` writes."""
FORMATS: tuple[str, ...] = get_args(OutputFormat)


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
    to: OutputFormat | None = None,
    progress: bool = False,
) -> ConvertReport:
    """Write records, tables or pictures in another format.

    >>> print(ps.convert("train", "train.parquet", replace=True))
    train.parquet: 100 records

    A copy of records has the schema of its source, and images as they are stored. In a table, images are their bytes,
    in JSON Lines as base64.

    Args:
        paths: Files of records, as for :class:`penstock.Dataset`; tables of one format; a folder of pictures, by class
            or with a metadata table; WebDataset tars; or a folder of Hugging Face.
        output: A table, by its extension: ``.parquet``, ``.arrow``, ``.feather``, ``.csv``, ``.tsv``, ``.jsonl``; a
            dataset by its name, ``data/train``; or ``-``, standard output.
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
        to: The format of the output, if its name does not show it: ``"tfrecord"``, ``"parquet"``, ``"arrow"``,
            ``"csv"``, ``"tsv"``, ``"jsonl"``. Standard output has JSON Lines by default.
        progress: Show a progress bar on standard error, if that is a terminal.

    Raises:
        FileExistsError: The output exists, and ``replace`` is False.
        ValueError: The arguments contradict each other.
    """
    names, target = path_texts(paths), path_text(output)
    form = _form_of(target, to)
    if form != "tfrecord" and target != "-" and os.path.exists(target) and not replace:
        raise FileExistsError(errno.EEXIST, "the output exists: replace=True replaces it", target)
    writing: dict[str, Any] = {"shards": shards, "compression": output_compression or "", "replace": replace}
    given = None if schema is None else named_schema(schema).schema
    stream = open_stream(names, schema=given, max_record_bytes=max_record_bytes)
    if stream is not None:
        if columns or skip or limit is not None:
            stream = choose(stream, columns=columns or None, skip=skip, limit=limit)
        if form == "tfrecord":
            stream = stream.describe(float64)
            records = write(
                target, stream.reader.batches, schema=stream.schema, shuffle=shuffle, float64=float64, **writing
            ).records
        elif shuffle is not None:
            raise ValueError("a table is shuffled on the way to records: convert it to a dataset first, data/train")
        else:
            records = write_table(*stream.with_metadata(), target, form, rows=stream.rows, progress=progress)
        return ConvertReport(target, records)
    readers, problems = open_readers(names, compression=compression, max_record_bytes=max_record_bytes)
    for problem in problems:  # an output without this file would look complete
        raise problem.error or FileNotFoundError(errno.ENOENT, problem.cause, problem.path)
    if any(isinstance(reader, PipeReader) for reader in readers):
        raise ValueError("records are converted from files: save the data of the pipe to a file first")
    found = given or find_schema(readers, infer=infer, records=infer_records).schema
    skipped: dict[tuple[str | None, int | None], Problem] = {}

    def note(error: CorruptDataError | MalformedExampleError) -> None:
        # The first elements are read twice: for the schema, then for the output.
        skipped.setdefault((error.path, error.record), problem_of(error.path or "", error))

    dataset: Dataset = Dataset(
        [reader.path for reader in readers],
        schema=found,
        columns=columns or None,
        compression=compression,
        max_record_bytes=max_record_bytes,
        on_error=note if on_error == "skip" else "raise",
    )
    chosen = dataset if shuffle is None else dataset.shuffle(seed=shuffle)
    chosen = chosen.skip(skip) if skip else chosen
    chosen = chosen if limit is None else chosen.take(limit)
    if form == "tfrecord":
        records = write(target, chosen, **writing).records
    else:
        reader = chosen._open_arrow()
        records = write_table(reader.schema, reader, target, form, rows=count_rows(chosen), progress=progress)
    return ConvertReport(target, records, tuple(skipped.values()))


def _form_of(output: str, to: OutputFormat | None) -> OutputFormat:
    """Return the format of an output: the one that was asked for, or by its extension."""
    if to is not None and to not in FORMATS:
        raise ValueError(f"to is one of {', '.join(FORMATS)}, not {to!r}")
    by_name = table_format(output)
    extension = os.path.splitext(output)[1]
    if to is None and by_name is None and extension[1:].isalpha():
        raise ValueError(f"unknown extension {extension}: a table is {TABLES}, a dataset has no extension")
    form: OutputFormat = to or by_name or ("jsonl" if output == "-" else "tfrecord")
    if form != "tfrecord" and is_remote(output):
        raise ValueError("a table is written to a local file: copy it from there")
    return form
