"""Count the records of files by their headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.discovery.resolve import ResolvedFile, is_file_error, resolve_files
from penstock.integrity.problems import Problem, problem_of
from penstock.integrity.report import Report, plural
from penstock.parallel import FileProgress, available_cpus, jobs_for, on_each_file
from penstock.records.reader import RecordReader
from penstock.storage import StrPath


@dataclass(frozen=True)
class FileCount:
    """How many records one file holds."""

    path: str
    records: int | None = None
    """None if the file cannot be counted."""
    problem: Problem | None = None

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the count as JSON values."""
        problem = None if self.problem is None else self.problem._document(advise)
        return {"path": self.path, "records": self.records, "problem": problem}


@dataclass(frozen=True)
class CountReport(Report):
    """What :func:`count` found.

    >>> print(ps.count("train"))
    100 records in 4 files
    """

    files: tuple[FileCount, ...]

    @property
    def records(self) -> int:
        """Records in all files that can be counted.

        >>> ps.count(["train", "gone.tfrecord"]).records
        100
        """
        return sum(file.records or 0 for file in self.files)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """One for each file that cannot be counted.

        >>> [problem.path for problem in ps.count(["train", "gone.tfrecord"]).problems]
        ['gone.tfrecord']
        """
        return tuple(file.problem for file in self.files if file.problem is not None)

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the report as JSON values; ``advise`` returns an ``"advice"`` for each problem."""
        files = [file._document(advise) for file in self.files]
        return {"files": files, "records": self.records, "problems": len(self.problems)}

    def __str__(self) -> str:
        counted = len(self.files) - len(self.problems)
        total = f"{plural(self.records, 'record')} in {plural(counted, 'file')}"
        return "\n".join([*map(str, self.problems), total])


def count(
    paths: StrPath | Iterable[StrPath],
    *,
    compression: str | None = "auto",
    max_record_bytes: int = 1 << 30,
    jobs: int | None = None,
    progress: bool = False,
) -> CountReport:
    """Count the records of files.

    >>> ps.count("train").records
    100

    Headers are checked, payloads are not: see :func:`penstock.verify`. Large payloads are not even read. A file that is
    damaged or missing is a problem of the report and not part of the total.

    Args:
        paths: Files, glob patterns, directories, URLs, and datasets by their name or manifest.
        compression: How the files are compressed; ``"auto"`` detects it from their content.
        max_record_bytes: A longer record is damage, whatever its header says.
        jobs: Files to read at once; by default one per CPU.
        progress: Show a progress bar on standard error, if that is a terminal.
    """
    files = resolve_files(paths).files
    jobs = jobs_for(len(files), jobs)
    threads = max(1, available_cpus() // jobs)

    def count_file(file: ResolvedFile, bar: FileProgress) -> FileCount:
        try:
            if file.error is not None:
                raise file.error
            reader = RecordReader(
                file.path, compression=compression, max_record_bytes=max_record_bytes, threads=threads
            )
            found = FileCount(file.path, reader.count())
        except Exception as error:
            if not is_file_error(file.path, error):
                raise
            found = FileCount(file.path, problem=problem_of(file.path, error))
        bar.advance(1, found.records or 0)
        return found

    return CountReport(tuple(on_each_file(files, count_file, jobs=jobs, title="counting", show=progress)))
