"""Summarize the values of all records in numbers and histograms, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from penstock import _core
from penstock.codec.decoder import Decoder
from penstock.discovery.resolve import is_file_error
from penstock.errors import MalformedExampleError
from penstock.inspect.feature_stats import FeatureStats, ValueRange
from penstock.inspect.open_readers import PipeReader, open_readers
from penstock.inspect.schema import DescribedSchema, find_schema, group_alike, named_schema
from penstock.integrity.problems import Problem, problem_among
from penstock.integrity.report import Report, plural, size_text
from penstock.parallel import FileProgress, available_cpus, jobs_for, on_each_file
from penstock.records.reader import RecordReader
from penstock.schema import Feature, Schema
from penstock.schema.schema import keep_fixed_lists, keep_lists
from penstock.storage import StrPath, locate


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
    are no error. Of bytes, text and encoded images, the sizes are summarized. Of labels, names and other single values,
    the most frequent ones and the number of distinct ones are counted: exactly up to 4,096 distinct values, otherwise
    estimated, which ``frequencies.exact`` says. Encoded pictures have formats and sizes, read from their headers. A
    file that is damaged or missing is a
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
    groups = [readers] if options.get("schema") is not None else group_alike(readers) or [readers]
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
        sizes, features, largest = ValueRange(), dict[str, FeatureStats](), list[LargeRecord]()
        described = self._named
        try:
            if readers:
                described = described or find_schema(readers, infer=self._infer, records=self._infer_records)
                options: dict[str, Any] = {"columns": self._columns, "threads": 1}
                options["strict"] = described.inferred is not None
                decoder = Decoder(keep_lists(described.schema), **options)
                usual = Decoder(keep_fixed_lists(described.schema), **options)
                kinds = [
                    (feature.dtype, _is_counted(described.schema[name])) for name, feature in decoder.schema.items()
                ]
                native = _core.RecordStats(usual._native, decoder._native, kinds)
                _Reading(readers, native, decoder, problems).run(show=self._progress)
                size_range, found, large = native.result()
                sizes = ValueRange(*size_range)
                features = {
                    name: FeatureStats.of(feature, of_feature)
                    for (name, feature), of_feature in zip(decoder.schema.items(), found, strict=True)
                }
                largest = [LargeRecord(paths[file], record, size) for file, record, size in large]
        except Exception as error:
            if not any(is_file_error(path, error) for path in paths):
                raise
            problems.append(problem_among(paths, error))
        return StatsReport(paths, described, sizes, features, tuple(largest), tuple(problems))


def _is_counted(feature: Feature) -> bool:
    """Whether the values of a feature are labels or names: single ones, and no pictures."""
    return feature.encoding == "list" and feature.shape == ()


class _Reading:
    """Adds the records of all files to statistics. Files are read in parallel, and each on several threads."""

    def __init__(
        self,
        readers: Sequence[RecordReader],
        native: _core.RecordStats,
        decoder: Decoder,
        problems: list[Problem],
    ) -> None:
        self._readers, self._native, self._decoder, self._problems = readers, native, decoder, problems
        self._jobs = jobs_for(len(readers), None)
        self._threads = max(1, available_cpus() // self._jobs)

    def run(self, *, show: bool) -> None:
        """Read all files; what is wrong with them becomes problems, in their order."""
        files = list(enumerate(self._readers))
        found = on_each_file(files, self._read, jobs=self._jobs, title="reading", show=show)
        self._problems += [problem for problem in found if problem is not None]

    def _read(self, numbered: tuple[int, RecordReader], bar: FileProgress) -> Problem | None:
        file, reader = numbered
        meter = FileMeter(reader.path, bar)
        try:
            own = self._native.fresh()
            if not self._read_in_parallel(reader, file, own, meter):
                own = self._native.fresh()  # threads may have added what follows the damage
                try:
                    self._read_in_order(reader, file, own, meter)
                finally:
                    self._native.merge(own)
            else:
                self._native.merge(own)
        except Exception as error:
            if not is_file_error(reader.path, error):
                raise
            return problem_among([reader.path], error)
        finally:
            meter.finish()
        return None

    def _read_in_parallel(self, reader: RecordReader, file: int, own: _core.RecordStats, meter: FileMeter) -> bool:
        """Read a local plain file on native threads; return False for any other, and for one that is damaged."""
        if isinstance(reader, PipeReader):
            return False
        scanner = reader._scan(replace(reader._options, threads=self._threads))
        if not scanner.native:
            return False
        with closing(scanner.counted(own, file)) as events:
            for event in events:
                if not isinstance(event, _core.ValidRecords):
                    return False
                meter.advance(event.records, event.bytes)
        return True

    def _read_in_order(self, reader: RecordReader, file: int, own: _core.RecordStats, meter: FileMeter) -> None:
        """Read a file up to its end or to the first record that is damaged or does not decode, which raises."""
        # A chunk is about a megabyte, or one large record: memory is bounded, whatever the file's size.
        for chunk in reader.chunks():
            if not own.add(chunk, file):
                try:
                    self._decoder.decode(chunk)
                except MalformedExampleError as error:
                    good = (error.record or 0) - chunk.first_record
                    if good > 0:
                        own.add(chunk[:good], file)
                    raise
            meter.advance(len(chunk), int(chunk.spans[:, 1].sum()) + 16 * len(chunk))


class FileMeter:
    """Advances the progress bar by the parts of a file."""

    def __init__(self, path: str, bar: FileProgress) -> None:
        self._path, self._bar = path, bar
        self._size: int | None = None
        self._done = 0.0

    def advance(self, records: int, size: int) -> None:
        """Add records, and the bytes of their frames."""
        if self._size is None:
            self._size = locate(self._path)[0].stat(self._path).size or 0
        now = min(0.99, self._done + size / self._size) if self._size else 0.0
        self._bar.advance(now - self._done, records)
        self._done = now

    def finish(self) -> None:
        """Count the file as done."""
        self._bar.advance(1 - self._done)
