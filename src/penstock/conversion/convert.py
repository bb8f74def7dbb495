"""Write records, tables, pictures and tars in another format."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as replace_field
from typing import Any, Literal, TypeAlias, get_args

from penstock.codec.encode_values import Float64
from penstock.codec.encoder import Encoder
from penstock.columns import from_arrow
from penstock.conversion.reshape import Reshape, parse_split
from penstock.conversion.sources import open_stream, size_of
from penstock.conversion.table_stream import TABLES, TableStream, table_format
from penstock.conversion.write_tables import write_table
from penstock.dataset.dataset import Dataset
from penstock.discovery.resolve import path_texts
from penstock.errors import CorruptDataError, MalformedExampleError
from penstock.expression import RowCondition
from penstock.inspect.open_readers import PipeReader, open_readers
from penstock.inspect.schema import find_schema, named_schema
from penstock.integrity.problems import Problem, problem_of
from penstock.integrity.report import Report, plural
from penstock.records.writer import RecordWriter
from penstock.schema import Schema
from penstock.storage import StrPath, is_remote, path_text, split_path
from penstock.writing.destination import is_file_name
from penstock.writing.hidden_files import temporary_folder
from penstock.writing.inputs import BatchStream, count_rows
from penstock.writing.layout import bytes_of, check_shard_sizes, open_destination
from penstock.writing.rewrite import check_room, rewrite_parts
from penstock.writing.write import write
from penstock.writing.write_tfds import write_tfds

OutputFormat: TypeAlias = Literal["tfrecord", "parquet", "arrow", "csv", "tsv", "jsonl", "tfds"]
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
    parts: Mapping[str, int] = field(default_factory=dict)
    """The records of each part of a split."""

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the report as JSON values; ``advise`` returns an ``"advice"`` for each problem."""
        problems = [problem._document(advise) for problem in self.problems]
        found = {"output": self.output, "records": self.records, "problems": problems}
        return found | {"parts": dict(self.parts)} if self.parts else found

    def __str__(self) -> str:
        parts = [f"  {name}: {plural(records, 'record')}" for name, records in self.parts.items()]
        return "\n".join([*map(str, self.problems), f"{self.output}: {plural(self.records, 'record')}", *parts])


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
    shards: int | None = None,
    output_compression: str | None = None,
    float64: Float64 | None = None,
    replace: bool = False,
    compression: str | None = "auto",
    max_record_bytes: int = 1 << 30,
    to: OutputFormat | None = None,
    where: str | None = None,
    unique: str | Iterable[str] | None = None,
    sort: str | Iterable[str] = (),
    descending: bool = False,
    drop: Iterable[str] = (),
    rename: Mapping[str, str] | None = None,
    split: str | None = None,
    rows_per_shard: int | None = None,
    shard_bytes: int | str | None = None,
    memory: int | str = "1GB",
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
            dataset by its name, ``data/train``; one file of records, ``train.tfrecord``; or ``-``, standard output.
        schema: The schema, or a file that holds one. By default that of the dataset, or of the table.
        infer: Infer the schema from the records, even if there is a schema file.
        infer_records: Records to infer it from, spread over the files; None takes all.
        columns: The features to write; by default all.
        shuffle: A seed: write the examples in random order.
        skip: Examples to skip, after ``where``, ``unique``, ``sort`` and ``shuffle``, which come in this order.
        limit: Examples to write at most.
        on_error: What damage does, or a record that does not fit the schema: ``"raise"``, so that nothing is written;
            or ``"skip"``, which makes it a problem of the report.
        shards: Files of a dataset, 1 by default.
        output_compression: Of the files of a dataset: ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"``, or None for none.
        float64: What becomes of float64 in a table: ``"float32"`` rounds it, ``"raw"`` stores its bytes.
        replace: Replace an output that exists.
        compression: How the files are compressed; ``"auto"`` detects it from their content.
        max_record_bytes: A longer record is damage, whatever its header says.
        to: The format of the output, if its name does not show it: ``"tfrecord"``, ``"parquet"``, ``"arrow"``,
            ``"csv"``, ``"tsv"``, ``"jsonl"``; or ``"tfds"``, a folder that TFDS reads, with the parts of ``split`` as
            its splits, else ``train``. Standard output has JSON Lines by default.
        where: Which examples to write: a condition on their columns, ``"label == 3 and height > 200"``.
        unique: Write the first example of each key: a column or several; an empty list takes all columns.
        sort: Write the examples in the order of a column, or of several.
        descending: Sort the largest first.
        drop: Features to leave out.
        rename: New names of features. All other options go by the old ones.
        split: Write several outputs with a part of the name each: ``"id:80/10/10"`` writes ``NAME-train``,
            ``NAME-val`` and ``NAME-test``, and a hash of ``id`` decides; ``"80/20"`` draws positions with the seed of
            ``shuffle``; ``"id:a=1/b=1"`` names the parts.
        rows_per_shard: Examples in each file of a dataset, instead of ``shards``.
        shard_bytes: Size of each file before compression, instead of ``shards``: bytes, or ``"256MB"``.
        memory: Records with a manifest or schema file, and tables that are ordered or split, become records without
            being decoded and encoded again, with at most this much memory, bytes or ``"1GB"``, and 32 bytes for each
            record; what does not fit goes through temporary files beside the output. That is, unless ``where``,
            ``limit``, ``columns``, ``drop``, ``rename`` or ``on_error="skip"`` is given.
        progress: Show a progress bar on standard error, if that is a terminal.

    Raises:
        FileExistsError: The output exists, and ``replace`` is False.
        OSError: The disk has too little room, as far as that is known before.
        ValueError: The arguments contradict each other.
    """
    target = path_text(output)
    form = _form_of(target, to)
    reshape = Reshape(
        where=None if where is None else RowCondition(where),
        unique=None if unique is None else [unique] if isinstance(unique, str) else list(unique),
        sort=[sort] if isinstance(sort, str) else list(sort),
        descending=descending,
        shuffle=shuffle,
        skip=skip,
        limit=limit,
        columns=None if columns is None else list(columns),
        drop=list(drop),
        rename=dict(rename or {}),
    )
    parts = None if split is None else parse_split(split)
    sizes = {"shards": shards, "rows_per_shard": rows_per_shard, "shard_bytes": shard_bytes}
    at_most = bytes_of("memory", memory)
    sink = _Sink(target, form, replace, progress, sizes | {"compression": output_compression or ""}, float64)
    if parts is None:
        sink.check(target)
    else:
        for name in parts[0]:
            sink.check(sink.path_of(name))
    opening: dict[str, Any] = {"compression": compression, "max_record_bytes": max_record_bytes}
    names = path_texts(paths)
    given = None if schema is None else named_schema(schema).schema
    stream = open_stream(names, schema=given, max_record_bytes=max_record_bytes)
    if stream is not None and parts is None and not reshape.needs_all_rows:
        return ConvertReport(target, sink.write_stream(reshape.of_stream(stream), target))
    skipped: dict[tuple[str | None, int | None], Problem] = {}

    def note(error: CorruptDataError | MalformedExampleError) -> None:
        # The first elements are read twice: for the schema, then for the output.
        skipped.setdefault((error.path, error.record), problem_of(error.path or "", error))

    with ExitStack() as stack:
        if stream is None:
            found, is_stored, files = _find_schema(names, given, infer, infer_records, opening)
            handling: Any = note if on_error == "skip" else "raise"
            dataset: Dataset[Any] = Dataset(files, schema=found, on_error=handling, **opening)
        else:
            # Rows are needed in another order than that of the stream.
            # The records are about as large as a text, and larger than a compressed table.
            is_stored, size = True, size_of(names)
            as_float = float64 if form == "tfrecord" else "raw"
            dataset = stack.enter_context(_as_records(stream, target, as_float, size))
        if is_stored and reshape.keeps_records and on_error == "raise" and not is_remote(target):
            sink = replace_field(sink, memory=at_most)
        chosen = reshape.of_dataset(dataset)
        if parts is None:
            records = sink.write_dataset(reshape.columns_of(chosen), target)
            return ConvertReport(target, records, tuple(skipped.values()))
        shares, key = parts
        divided = chosen.split(shares, by=key, seed=None if key else shuffle or 0)
        if form == "tfds":
            written = sink.write_splits({name: reshape.columns_of(part) for name, part in divided.items()}, target)
            return ConvertReport(target, sum(written.values()), tuple(skipped.values()), written)
        written = sink.write_parts({name: reshape.columns_of(part) for name, part in divided.items()})
        return ConvertReport(target, sum(written.values()), tuple(skipped.values()), written)


def _find_schema(
    names: list[str], given: Schema | None, infer: bool, infer_records: int | None, opening: dict[str, Any]
) -> tuple[Schema, bool, list[str]]:
    """Return the schema of files of records, whether it is stored beside them, and their paths."""
    readers, problems = open_readers(names, **opening)
    for problem in problems:  # an output without this file would look complete
        raise problem.error or FileNotFoundError(errno.ENOENT, problem.cause, problem.path)
    if any(isinstance(reader, PipeReader) for reader in readers):
        raise ValueError("records are converted from files: save the data of the pipe to a file first")
    files = [reader.path for reader in readers]
    if given is not None:
        return given, False, files
    found = find_schema(readers, infer=infer, records=infer_records)
    return found.schema, found.inferred is None, files


@contextmanager
def _as_records(stream: TableStream, output: str, float64: Float64 | None, size: int) -> Iterator[Dataset[Any]]:
    """Write a table to records in a hidden folder beside the output, and return them as a dataset."""
    near = split_path(output)[1] if is_remote(output) else "standard-output" if output == "-" else output
    above = split_path(near)[0] or "."
    os.makedirs(above, exist_ok=True)
    check_room(above, size)
    stream = stream.describe(float64)
    with temporary_folder(near, "rows") as folder:
        name = os.path.join(folder, "rows")
        batches = BatchStream(stream.reader.batches, stream.rows)
        write(name, batches, schema=stream.schema, float64=float64, progress=False)
        yield Dataset(name)


@dataclass(frozen=True)
class _Sink:
    """Writes outputs of one format."""

    target: str
    form: OutputFormat
    replace: bool
    progress: bool
    writing: dict[str, Any]
    float64: Float64 | None
    memory: int | None = None
    """With how much memory records are copied; None: they are decoded and encoded."""

    def path_of(self, part: str) -> str:
        """Return the path of one part of the output: ``pets-train``, ``pets-train.parquet``."""
        if self.target == "-":
            raise ValueError("standard output takes one dataset, not the parts of a split: write them to files")
        folder, name = split_path(self.target)
        stem, dot, extension = name.partition(".")
        return f"{folder}{stem}-{part}{dot}{extension}"

    def check(self, path: str) -> None:
        """Raise if a file would be replaced and may not."""
        if self.form not in ("tfrecord", "tfds") and path != "-" and os.path.exists(path) and not self.replace:
            raise FileExistsError(errno.EEXIST, "the output exists: replace=True replaces it", path)

    def write_stream(self, stream: TableStream, path: str) -> int:
        """Write the rows of a table; return how many."""
        if self.form == "tfds":
            stream = stream.describe(self.float64)
            rows = BatchStream(stream.reader.batches, stream.rows)
            return sum(self.write_splits({"train": rows}, path, schema=stream.schema).values())
        if self.form != "tfrecord":
            return write_table(*stream.with_metadata(), path, self.form, rows=stream.rows, progress=self.progress)
        stream = stream.describe(self.float64)
        if path == "-":
            assert stream.schema is not None
            return self._to_standard_output(map(from_arrow, stream.reader.batches), stream.schema)
        rows = BatchStream(stream.reader.batches, stream.rows)
        options = {**self.writing, "replace": self.replace, "float64": self.float64, "progress": self.progress}
        return write(path, rows, schema=stream.schema, **options).records

    def write_dataset(self, dataset: Dataset[Any], path: str) -> int:
        """Write the rows of a dataset; return how many."""
        if self.form == "tfds":
            return sum(self.write_splits({"train": dataset}, path).values())
        if self.form != "tfrecord":
            reader = dataset._open_arrow()
            return write_table(reader.schema, reader, path, self.form, rows=count_rows(dataset), progress=self.progress)
        if path == "-":
            stored = dataset._as_stored()
            assert stored is not None
            return self._to_standard_output(iter(stored[0].batch(1024)), stored[1])
        options = {**self.writing, "replace": self.replace, "progress": self.progress, "memory": self.memory}
        return write(path, dataset, **options).records

    def write_parts(self, parts: Mapping[str, Dataset[Any]]) -> dict[str, int]:
        """Write each part of a split to an output; return how many rows each has."""
        if self.memory is None or self.form != "tfrecord":
            return {name: self.write_dataset(part, self.path_of(name)) for name, part in parts.items()}
        options = dict(self.writing)
        compression = options.pop("compression")
        sizes = check_shard_sizes(**options)
        outputs = [
            open_destination(
                self.path_of(name), sizes, compression=compression, level=2, replace=self.replace, sync=False
            )
            for name in parts
        ]
        stored = [part._stored_rows() for part in parts.values()]
        written = rewrite_parts(
            list(zip(stored, outputs, strict=True)), sizes, memory=self.memory, progress=self.progress
        )
        return {name: manifest.records for name, manifest in zip(parts, written, strict=True)}

    def write_splits(self, splits: Mapping[str, Any], path: str, schema: Schema | None = None) -> dict[str, int]:
        """Write a folder of TFDS; return how many rows each split has."""
        if any(value for name, value in self.writing.items() if name != "shards"):
            raise ValueError("a folder of TFDS takes a number of shards, and no sizes of shards or compression")
        written = write_tfds(
            path, splits, schema=schema, shards=self.writing["shards"], replace=self.replace, progress=self.progress
        )
        return {name: sum(split.lengths or ()) for name, split in written.splits.items()}

    def _to_standard_output(self, batches: Iterator[Any], schema: Schema) -> int:
        encoder = Encoder(schema, float64=self.float64)
        records = 0
        with RecordWriter("-", compression=self.writing["compression"]) as writer:
            for batch in batches:
                writer.write_many(encoder.encode(batch))
                records += len(batch)
        return records


def _form_of(output: str, to: OutputFormat | None) -> OutputFormat:
    """Return the format of an output: the one that was asked for, or by its extension."""
    if to is not None and to not in FORMATS:
        raise ValueError(f"to is one of {', '.join(FORMATS)}, not {to!r}")
    by_name = table_format(output)
    extension = os.path.splitext(output)[1]
    if to is None and by_name is None and extension[1:].isalpha() and not is_file_name(output):
        raise ValueError(
            f"unknown extension {extension}: a table is {TABLES}, records are data/train or train.tfrecord"
        )
    form: OutputFormat = to or by_name or ("jsonl" if output == "-" else "tfrecord")
    if form != "tfrecord" and is_remote(output):
        raise ValueError("a table is written to a local file: copy it from there")
    return form
