"""Summarize the values of all records in numbers and histograms, in bounded memory."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock._core import RecordChunk
from penstock.codec.decoder import Decoder
from penstock.columns import AnyColumn, BytesColumn, Nullable, Ragged
from penstock.discovery.resolve import is_file_error
from penstock.errors import MalformedExampleError
from penstock.inspect.histogram import Histogram
from penstock.inspect.open_readers import open_readers
from penstock.inspect.schema import DescribedSchema, find_schema, group_alike, named_schema
from penstock.integrity.problems import Problem, problem_among
from penstock.integrity.report import Report, plural, size_text
from penstock.parallel import FileProgress, on_each_file
from penstock.records.reader import RecordReader
from penstock.schema import Feature, Schema
from penstock.schema.schema import keep_lists
from penstock.storage import StrPath, locate

_LARGEST = 5
_NAMES_SHOWN = 3


@dataclass
class ValueRange:
    """The smallest, the mean and the largest of some numbers."""

    count: int = 0
    min: float | None = None
    max: float | None = None
    total: float = 0.0

    def add(self, numbers: NDArray[Any]) -> None:
        """Add finite numbers."""
        if not len(numbers):
            return
        low, high = numbers.min().item(), numbers.max().item()
        self.min = low if self.min is None else min(self.min, low)
        self.max = high if self.max is None else max(self.max, high)
        self.count += len(numbers)
        self.total += float(numbers.sum(dtype=np.float64))

    @property
    def mean(self) -> float | None:
        """None if there are no numbers."""
        return self.total / self.count if self.count else None

    def _document(self) -> dict[str, float | None]:
        """Return the range as JSON values."""
        return {"min": self.min, "mean": self.mean, "max": self.max}


@dataclass
class FeatureStats:
    """What all records hold of one feature; of bytes, the sizes are summarized in place of the values."""

    feature: Feature
    rows: int = 0
    missing: int = 0
    lengths: ValueRange = field(default_factory=ValueRange)
    """Values in a record that has the feature."""
    steps: ValueRange = field(default_factory=ValueRange)
    """Steps in a record that has the feature, if it is a sequence."""
    values: ValueRange = field(default_factory=ValueRange)
    not_finite: int = 0

    def __post_init__(self) -> None:
        self.histogram = Histogram(integers=self.feature.dtype[:5] != "float" and self.feature.dtype != "bfloat16")

    @property
    def kind(self) -> str:
        """The dtype, and the names of classes if the feature has them."""
        names = self.feature.names
        more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
        return f"{self.feature.dtype} ({', '.join(names[:_NAMES_SHOWN])}{more})" if names else self.feature.dtype

    def add(self, column: AnyColumn) -> None:
        """Add the column of one batch."""
        self.rows += len(column)
        if isinstance(column, Nullable):
            self.missing += column.null_count
            column = column.values[column.valid] if column.null_count else column.values
        lengths, leaf = _flatten(column)
        self.lengths.add(lengths[-1])
        if len(lengths) > 1:
            self.steps.add(lengths[0])
        self._add_values(leaf)

    def _add_values(self, leaf: AnyColumn) -> None:
        if isinstance(leaf, BytesColumn):
            sizes = leaf.views[:, 0].astype(np.int64)
            self.values.add(sizes)
            self.histogram.add(sizes.astype(np.float64))
            return
        assert isinstance(leaf, np.ndarray)
        flat = leaf.reshape(-1)
        if flat.dtype.kind not in "iub":
            flat = flat.astype(np.float64)
            finite = np.isfinite(flat)
            self.not_finite += len(flat) - int(np.count_nonzero(finite))
            flat = flat[finite]
        self.values.add(flat)
        self.histogram.add(flat.astype(np.float64))

    def _document(self) -> dict[str, Any]:
        """Return the statistics as JSON values."""
        what = "sizes" if self.feature.dtype == "bytes" else "values"
        return {
            "dtype": self.feature.dtype,
            "records": self.rows - self.missing,
            "missing": self.missing,
            "count": self.values.count + self.not_finite,
            "not_finite": self.not_finite,
            what: self.values._document(),
            "lengths": self.lengths._document(),
            **({"steps": self.steps._document()} if self.steps.count else {}),
            "histogram": self.histogram._document(),
            **({"names": list(self.feature.names)} if self.feature.names else {}),
        }


@dataclass(frozen=True)
class LargeRecord:
    """One of the largest records."""

    path: str
    record: int
    bytes: int

    def _document(self) -> dict[str, Any]:
        """Return the record's place and size as JSON values."""
        return {"path": self.path, "record": self.record, "bytes": self.bytes}


@dataclass(frozen=True)
class StatsReport(Report):
    """What :func:`stats` found.

    >>> print(ps.stats("train", columns=["label"]))
    100 records in 4 files, 5.1 kB
    label: int64, 0 to 9, mean 4.5  ██████████
    """

    paths: tuple[str, ...]
    """The files that were opened."""
    described: DescribedSchema | None
    """The schema that the records were read with, and its origin; None if there is none."""
    sizes: ValueRange
    """The sizes of the payloads."""
    features: dict[str, FeatureStats]
    largest: tuple[LargeRecord, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def files(self) -> int:
        """How many files were read.

        >>> ps.stats(["train", "gone.tfrecord"]).files
        4
        """
        unread = {problem.path for problem in self.problems if not problem.record}
        return sum(path not in unread for path in self.paths)

    @property
    def records(self) -> int:
        """How many records were read.

        >>> ps.stats("train").records
        100
        """
        return self.sizes.count

    @property
    def bytes(self) -> int:
        """The size of all payloads.

        >>> ps.stats("train").bytes
        5060
        """
        return int(self.sizes.total)

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the report as JSON values; ``advise`` returns an ``"advice"`` for each problem."""
        return {
            "files": self.files,
            "records": self.records,
            "bytes": self.bytes,
            "sizes": self.sizes._document(),
            "schema": None if self.described is None else self.described.origin,
            "features": {name: feature._document() for name, feature in self.features.items()},
            "largest": [record._document() for record in self.largest],
            "problems": [problem._document(advise) for problem in self.problems],
        }

    def __str__(self) -> str:
        lines = [f"{plural(self.records, 'record')} in {plural(self.files, 'file')}, {size_text(self.bytes)}"]
        for name, found in self.features.items():
            unit = " bytes" if found.feature.dtype == "bytes" else ""
            values = (
                "no values"
                if found.values.mean is None
                else (
                    f"{found.values.min:g} to {found.values.max:g}{unit}, mean {found.values.mean:g}  {found.histogram}"
                )
            )
            missing = f", missing in {plural(found.missing, 'record')}" if found.missing else ""
            lines.append(f"{name}: {found.kind}, {values}{missing}")
        return "\n".join([*lines, *map(str, self.problems)])


def stats(
    paths: StrPath | Iterable[StrPath],
    *,
    schema: Schema | StrPath | None = None,
    infer: bool = False,
    infer_records: int | None = 1000,
    columns: Sequence[str] | None = None,
    compression: str | None = "auto",
    max_record_bytes: int = 1 << 30,
    progress: bool = False,
) -> StatsReport:
    """Read all records of files, and summarize their features.

    >>> report = ps.stats("train")
    >>> report.features["label"].values.mean
    4.5

    Features are taken as the lists that they are stored in, of any length, so that counts that differ from the schema
    are no error. Of bytes, text and encoded images, the sizes are summarized. A file that is damaged or missing is a
    problem of the report; the records before the damage count.

    Args:
        paths: Files, glob patterns, directories, URLs, and datasets by their name or manifest.
        schema: The schema, or a file that holds one. By default the manifest or schema file of the dataset.
        infer: Infer the schema from the records, even if there is a schema file.
        infer_records: Records to infer it from, spread over the files; None takes all.
        columns: The features to summarize; by default all.
        compression: How the files are compressed; ``"auto"`` detects it from their content.
        max_record_bytes: A longer record is damage, whatever its header says.
        progress: Show a progress bar on standard error, if that is a terminal.
    """
    readers, problems = open_readers(paths, compression=compression, max_record_bytes=max_record_bytes)
    return _Stats(schema, infer, infer_records, columns, progress).of(readers, problems)


def stats_by_content(
    paths: StrPath | Iterable[StrPath],
    *,
    compression: str | None = "auto",
    max_record_bytes: int = 1 << 30,
    **options: Any,
) -> list[StatsReport]:
    """Summarize files as :func:`stats` does, with a report for each group of files that have features in common.

    The first report also has the problems of paths that stand for no file.
    """
    readers, problems = open_readers(paths, compression=compression, max_record_bytes=max_record_bytes)
    groups = [readers] if options.get("schema") is not None else group_alike(readers)
    summarize = _Stats(**options)
    return [summarize.of(group, problems if number == 0 else []) for number, group in enumerate(groups)]


class _Stats:
    """Makes reports with the same options."""

    def __init__(
        self,
        schema: Schema | StrPath | None = None,
        infer: bool = False,
        infer_records: int | None = 1000,
        columns: Sequence[str] | None = None,
        progress: bool = False,
    ) -> None:
        self._named = None if schema is None else named_schema(schema)
        self._infer, self._infer_records = infer, infer_records
        self._columns = columns
        self._progress = progress

    def of(self, readers: Sequence[RecordReader], problems: list[Problem]) -> StatsReport:
        problems = list(problems)
        paths = tuple(reader.path for reader in readers)
        sizes, features, largest = ValueRange(), dict[str, FeatureStats](), _Largest()
        described = self._named
        try:
            if readers:
                described = described or find_schema(readers, infer=self._infer, records=self._infer_records)
                decoder = Decoder(
                    keep_lists(described.schema), columns=self._columns, strict=described.inferred is not None
                )
                features = {name: FeatureStats(feature) for name, feature in decoder.schema.items()}
                self._read(readers, decoder, sizes, features, largest, problems)
        except Exception as error:
            if not any(is_file_error(path, error) for path in paths):
                raise
            problems.append(problem_among(paths, error))
        return StatsReport(paths, described, sizes, features, tuple(largest.records), tuple(problems))

    def _read(
        self,
        readers: Sequence[RecordReader],
        decoder: Decoder,
        sizes: ValueRange,
        features: dict[str, FeatureStats],
        largest: _Largest,
        problems: list[Problem],
    ) -> None:
        def add(path: str, chunk: RecordChunk) -> None:
            batch = decoder.decode(chunk)
            sizes.add(chunk.spans[:, 1])
            largest.add(path, chunk)
            for name, feature in features.items():
                feature.add(batch[name])

        def read(reader: RecordReader, bar: FileProgress) -> None:
            try:
                # A chunk is about a megabyte, or one large record: memory is bounded, whatever the file's size.
                for chunk in _with_progress(reader, bar):
                    try:
                        add(reader.path, chunk)
                    except MalformedExampleError as error:
                        good = (error.record or 0) - chunk.first_record
                        if good > 0:
                            add(reader.path, chunk[:good])
                        raise
            except Exception as error:
                if not is_file_error(reader.path, error):
                    raise
                problems.append(problem_among([reader.path], error))

        # One file at a time: reading and decoding have threads of their own.
        on_each_file(readers, read, jobs=1, title="reading", show=self._progress)


class _Largest:
    """The largest records; of equals, the first."""

    def __init__(self) -> None:
        self.records: list[LargeRecord] = []

    def add(self, path: str, chunk: RecordChunk) -> None:
        sizes = chunk.spans[:, 1]
        order = (-sizes.astype(np.int64)).argsort(kind="stable")[:_LARGEST].tolist()
        found = [LargeRecord(path, chunk.first_record + i, int(sizes[i])) for i in order]
        self.records = heapq.nlargest(_LARGEST, [*self.records, *found], key=lambda record: record.bytes)


def _with_progress(reader: RecordReader, bar: FileProgress) -> Iterator[RecordChunk]:
    """Yield the chunks of a file, and advance the progress bar."""
    file_size = locate(reader.path)[0].stat(reader.path).size
    done = 0.0
    for chunk in reader.chunks():
        yield chunk
        if file_size:
            size = int(chunk.spans[:, 1].sum()) + 16 * len(chunk)
            now = min(0.99, done + size / file_size)
            bar.advance(now - done, len(chunk))
            done = now
    bar.advance(1 - done)


def _flatten(column: AnyColumn) -> tuple[list[NDArray[np.int64]], AnyColumn]:
    """Return the lengths at every ragged level, the number of values in each row last, and all values."""
    rows = len(column)
    bounds = np.arange(rows + 1)
    lengths = []
    while isinstance(column, Ragged):
        bounds = column.offsets[bounds]
        lengths.append(np.diff(bounds))
        column = column.values
    # A slice or a selection may refer to a part of the values.
    column = column[int(bounds[0]) : int(bounds[-1])]
    if isinstance(column, np.ndarray) and column.ndim > 1:
        per_item = int(np.prod(column.shape[1:]))
        lengths.append(np.diff(bounds) * per_item)
    elif not lengths:
        lengths.append(np.ones(rows, np.int64))
    return lengths, column
