"""Compare two datasets: their schemas, how many records they have, and the records by position or by key.

By position, pairs of records are compared natively: their bytes, and where these differ, a digest of their values. By
key, every record becomes six words in a table, and the tables are matched by sorting; only
the differences that are shown are decoded.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._core import RecordChunk
from penstock.arguments import int_at_least
from penstock.discovery.resolve import is_file_error
from penstock.discovery.sidecars import find_sidecar
from penstock.errors import CorruptDataError, MalformedExampleError, SchemaError
from penstock.inspect.diff_report import Change, DiffReport, RecordDifference, SchemaDifference
from penstock.inspect.match_digests import Digests, match
from penstock.inspect.open_readers import open_readers
from penstock.inspect.record_values import RecordValues, changed_values
from penstock.inspect.schema import DescribedSchema, find_schema
from penstock.inspect.stats import FileMeter
from penstock.integrity.problems import problem_among, problem_of
from penstock.parallel import FileProgress, available_cpus, jobs_for, on_each_file
from penstock.progress import ProgressBar
from penstock.records.reader import RecordReader
from penstock.schema.observed_features import RecordLocation
from penstock.schema.schema import unknown_feature
from penstock.storage import StrPath

_DIFFERENT = 2  # of _core.RecordComparer
_SAME_VALUES = 1


def diff(
    a: StrPath | Iterable[StrPath],
    b: StrPath | Iterable[StrPath],
    *,
    by: str | None = None,
    limit: int = 10,
    compression: str | None = "auto",
    max_record_bytes: int = 1 << 30,
    progress: bool = False,
) -> DiffReport:
    """Compare two datasets, record by record.

    >>> _ = ps.write("old", {"id": [1, 2, 3], "score": [0.5, 0.25, 1.0]})
    >>> _ = ps.write("new", {"id": [3, 1, 4], "score": [1.0, 0.75, 2.0]})
    >>> report = ps.diff("old", "new", by="id")
    >>> report.changed, report.removed, report.added
    (1, 1, 1)
    >>> report.differences[0].key, report.differences[0].values
    (1, {'score': (0.5, 0.75)})

    Values are compared, not files: compression, sharding, the order of features and the encoding of lists do not count.
    Floats are equal if their bits are. Records that are no Examples are compared as bytes. Schemas are compared if both
    sides have one in a file; otherwise inferred ones are, where records differ.

    By position, the n-th record of A is compared with the n-th of B, in memory that does not depend on the size of the
    data; damage ends the comparison. By key, records are matched by the value of a feature, in any order; equal keys
    are matched in the order of their records. That takes up to 170 bytes of memory for each record of A and B.
    Records without that feature have a key in common, too. Records outside of damage are matched; those that lack a
    counterpart where the other side is damaged are counted as unmatched.

    Args:
        a: Files, glob patterns, directories, URLs, and datasets by their name or manifest.
        b: What to compare them with.
        by: The feature to match records by; None compares by position.
        limit: How many changed, removed and added records to report, of each. All of them are counted.
        compression: How the files are compressed; ``"auto"`` detects it from their content.
        max_record_bytes: A longer record is damage, whatever its header says.
        progress: Show a progress bar on standard error, if that is a terminal.
    """
    options: dict[str, Any] = {"compression": compression, "max_record_bytes": max_record_bytes}
    options["on_error"] = "raise" if by is None else "skip"
    return _Comparison(_Side(a, **options), _Side(b, **options), by, int_at_least("limit", limit, 0)).run(show=progress)


class _Side:
    """One of the two datasets."""

    def __init__(self, paths: StrPath | Iterable[StrPath], **options: Any) -> None:
        self.readers, self.problems = open_readers(paths, **options)
        self.records = 0
        self.described: DescribedSchema | None = None

    @property
    def is_inferred(self) -> bool:
        return self.described is None or self.described.inferred is not None

    def find_schema(self, *, infer: bool = False) -> None:
        """Find the schema; there is none where the records do not show one."""
        try:
            self.described = find_schema(self.readers, infer=infer) if self.readers else None
        except (CorruptDataError, MalformedExampleError):
            self.described = None  # damage is met again when the records are compared
        except Exception as error:
            self.described = None
            has_file = any(find_sidecar(reader.path) is not None for reader in self.readers)
            if has_file or not isinstance(error, SchemaError):
                self.add_problem(error)

    def key_of(self, name: str) -> bytes:
        """Return the key that a feature is stored under."""
        if self.described is None or not self.described.schema:
            return name.encode("utf-8", "surrogateescape")
        context = self.described.schema.context
        if name not in context:
            raise unknown_feature(name, context)
        return (context[name].key or name).encode("utf-8", "surrogateescape")

    def values(self) -> RecordValues:
        return RecordValues(None if self.described is None else self.described.schema)

    def add_problem(self, error: Exception) -> None:
        """Add an error about a file to the problems; raise any other."""
        paths = [reader.path for reader in self.readers]
        if not any(is_file_error(path, error) for path in paths):
            raise error
        self.problems.append(problem_among(paths, error))

    def chunks(self, bar: FileProgress) -> Generator[RecordChunk]:
        """Yield the records of all files, up to the first damage, which becomes a problem."""
        for reader in () if self.problems else self.readers:
            meter = FileMeter(reader.path, bar)
            try:
                for chunk in reader.chunks():
                    meter.advance(len(chunk), int(chunk.spans[:, 1].sum()) + 16 * len(chunk))
                    yield chunk
            except Exception as error:
                self.add_problem(error)
                return
            finally:
                meter.finish()


class _Comparison:
    """Compares two sides, and holds what was found so far."""

    def __init__(self, a: _Side, b: _Side, by: str | None, limit: int) -> None:
        self._a, self._b, self._by, self._limit = a, b, by, limit
        self._counts: dict[Change, int] = {"changed": 0, "removed": 0, "added": 0}
        self._differences: list[RecordDifference] = []
        self._bytes_only = self._unmatched = 0

    def run(self, *, show: bool) -> DiffReport:
        """Compare everything, and return the report."""
        sides = (self._a, self._b)
        for side in sides:
            side.find_schema()
        if self._a.is_inferred != self._b.is_inferred:
            for side in sides:
                if not side.is_inferred:
                    side.find_schema(infer=True)
        self._values = [side.values() for side in sides]
        # Nobody who writes a file can foresee the seed, and with it which values have the same digest.
        self._seed = secrets.randbits(64)
        self._comparer = _core.RecordComparer(self._seed, available_cpus())
        if self._by is None:
            with ProgressBar("comparing", sum(len(side.readers) for side in sides), "files", show=show) as bar:
                self._by_position(FileProgress(bar))
        else:
            self._by_key(self._by, show=show)
        differ = any(self._counts.values())
        return DiffReport(
            by=self._by,
            a_records=self._a.records,
            b_records=self._b.records,
            schema=self._schema_differences() if differ or not self._a.is_inferred else (),
            **self._counts,
            bytes_only=self._bytes_only,
            unmatched=self._unmatched,
            differences=tuple(self._differences),
            problems=(*self._a.problems, *self._b.problems),
        )

    def _schema_differences(self) -> tuple[SchemaDifference, ...]:
        a, b = (dict(side.described.schema) if side.described is not None else {} for side in (self._a, self._b))
        names = [name for name in {**a, **b} if a.get(name) != b.get(name)] if a and b else []
        return tuple(SchemaDifference(name, a.get(name), b.get(name)) for name in names)

    def _by_position(self, bar: FileProgress) -> None:
        streams = [side.chunks(bar) for side in (self._a, self._b)]
        with closing(streams[0]), closing(streams[1]):
            a, b = (next(stream, None) for stream in streams)
            while a is not None and b is not None:
                count = min(len(a), len(b))
                self._compare(a[:count], b[:count])
                a = a[count:] if count < len(a) else next(streams[0], None)
                b = b[count:] if count < len(b) else next(streams[1], None)
            if self._a.problems or self._b.problems:
                return  # what follows has no counterpart that is known
            while a is not None:
                self._a.records += len(a)
                self._add_chunk("removed", a)
                a = next(streams[0], None)
            while b is not None:
                self._b.records += len(b)
                self._add_chunk("added", b)
                b = next(streams[1], None)

    def _compare(self, a: RecordChunk, b: RecordChunk) -> None:
        self._a.records += len(a)
        self._b.records += len(b)
        found = self._comparer.compare(a, b)
        self._bytes_only += int(np.count_nonzero(found == _SAME_VALUES))
        rows = np.flatnonzero(found == _DIFFERENT)
        room = max(0, self._limit - self._counts["changed"])
        self._counts["changed"] += len(rows)
        for row in rows[:room].tolist():
            self._add("changed", (_location(a, row), a[row]), (_location(b, row), b[row]))

    def _add_chunk(self, change: Change, chunk: RecordChunk) -> None:
        room = max(0, self._limit - self._counts[change])
        self._counts[change] += len(chunk)
        for row in range(min(room, len(chunk))):
            found = (_location(chunk, row), chunk[row])
            self._add(change, *((found, None) if change == "removed" else (None, found)))

    def _add(self, change: Change, a: _Found | None, b: _Found | None) -> None:
        """Add a difference with its values, if both records are there, and its key."""
        values, key = {}, None
        if a is not None and b is not None:
            values = changed_values(self._values[0], a[1], self._values[1], b[1])
        if self._by is not None:
            side, record = (0, a[1]) if a is not None else (1, b[1] if b is not None else b"")
            stored = (self._a, self._b)[side].key_of(self._by).decode("utf-8", "surrogateescape")
            key = self._values[side].read(record, {stored}).get(self._by)
        self._differences.append(RecordDifference(change, a and a[0], b and b[0], values, key))

    def _by_key(self, by: str, *, show: bool) -> None:
        tables = self._digests([(side, side.key_of(by)) for side in (self._a, self._b)], show)
        a, b = (np.concatenate([*parts, np.empty((0, 6), np.uint64)]) for parts in tables)
        self._a.records, self._b.records = len(a), len(b)
        found = match(a, b)
        self._bytes_only = found.bytes_only
        self._counts["changed"] = len(found.changed[0])
        lacking: dict[Change, tuple[Any, bool]] = {
            "removed": (found.only_a, bool(self._b.problems)),
            "added": (found.only_b, bool(self._a.problems)),
        }
        shown = {change: rows[: self._limit] for change, (rows, is_unknown) in lacking.items() if not is_unknown}
        for change, (rows, is_unknown) in lacking.items():
            if is_unknown:
                self._unmatched += len(rows)
            else:
                self._counts[change] = len(rows)
        rows_a, rows_b = (rows[: self._limit] for rows in found.changed)
        none = np.empty(0, np.int64)
        records_a = _fetch(self._a, tables[0], np.concatenate([rows_a, shown.get("removed", none)]))
        records_b = _fetch(self._b, tables[1], np.concatenate([rows_b, shown.get("added", none)]))
        for row_a, row_b in zip(rows_a.tolist(), rows_b.tolist(), strict=True):
            self._add("changed", records_a.get(row_a), records_b.get(row_b))
        for row in shown.get("removed", none).tolist():
            self._add("removed", records_a.get(row), None)
        for row in shown.get("added", none).tolist():
            self._add("added", None, records_b.get(row))

    def _digests(self, sides: list[tuple[_Side, bytes]], show: bool) -> list[list[Digests]]:
        """Return the digests of the records of each file of both sides, outside of damage."""

        def read(job: tuple[_Side, bytes, RecordReader], bar: FileProgress) -> tuple[list[Digests], Exception | None]:
            _, key, reader = job
            meter, parts = FileMeter(reader.path, bar), list[Digests]()
            try:
                for chunk in reader.chunks():
                    parts.append(_core.digest_records(chunk, key, self._seed))
                    meter.advance(len(chunk), int(chunk.spans[:, 1].sum()) + 16 * len(chunk))
            except Exception as error:
                return parts, error
            finally:
                meter.finish()
            return parts, None

        jobs = [(side, key, reader) for side, key in sides for reader in side.readers]
        results = on_each_file(jobs, read, jobs=jobs_for(len(jobs), None), title="comparing", show=show)
        tables: dict[int, list[Digests]] = {id(side): [] for side, _ in sides}
        for (side, _, reader), (parts, error) in zip(jobs, results, strict=True):
            tables[id(side)].append(np.concatenate([*parts, np.empty((0, 6), np.uint64)]))
            side.problems += [problem_of(reader.path, damage) for damage in reader.damage]
            if error is not None:
                side.add_problem(error)
        return [tables[id(side)] for side, _ in sides]


_Found: TypeAlias = tuple[RecordLocation, bytes]


def _location(chunk: RecordChunk, row: int) -> RecordLocation:
    return RecordLocation(chunk.source, chunk.first_record + row)


def _fetch(side: _Side, tables: list[Digests], rows: NDArray[np.int64]) -> dict[int, _Found]:
    """Return records by their rows in the tables of all files; a file is read up to the last of its records."""
    found: dict[int, _Found] = {}
    start = 0
    for reader, table in zip(side.readers, tables, strict=True):
        inside = rows[(rows >= start) & (rows < start + len(table))].tolist()
        wanted = {int(table[row - start, 5]): row for row in inside}
        with closing(cast("Generator[RecordChunk]", reader.chunks())) as chunks:
            for chunk in chunks if wanted else ():
                first = chunk.first_record
                for number in [number for number in wanted if first <= number < first + len(chunk)]:
                    found[wanted.pop(number)] = (_location(chunk, number - first), chunk[number - first])
                if not wanted:
                    break
        start += len(table)
    return found
