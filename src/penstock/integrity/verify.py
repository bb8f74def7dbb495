"""Read files whole, once, and report everything that is wrong with them.

One read serves every check: frames, payloads, and the checksum of the whole file that the manifest of its dataset
stores. Only a damaged file is read again, to find the records after the damage.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.arguments import int_at_least
from penstock.compression import Compression, check
from penstock.discovery.resolve import Resolved, ResolvedFile, is_file_error, path_texts, resolve_files
from penstock.integrity.problems import Problem, problem_of
from penstock.integrity.report import Report, plural, size_text
from penstock.integrity.verify_file import FileCheck, VerifiedFile
from penstock.manifest import SUFFIX
from penstock.parallel import FileProgress, available_cpus, jobs_for, on_each_file
from penstock.schema import Schema
from penstock.storage import StrPath, is_folder, locate, split_path
from penstock.storage.shard_names import dataset_of, missing_shards

_MAX_LINES = 10
_MAX_NUMBERS = 5


@dataclass(frozen=True)
class VerifiedDataset:
    """How a dataset differs from its manifest, or from what the names of its shards promise."""

    path: str
    """The manifest, or a pattern of the shards."""
    problems: tuple[Problem, ...]
    has_manifest: bool = True


@dataclass(frozen=True)
class VerifyReport(Report):
    """What :func:`verify` found.

    >>> report = ps.verify("train")
    >>> report.ok, len(report.files), len(report.datasets)
    (True, 4, 1)
    """

    files: tuple[VerifiedFile, ...]
    datasets: tuple[VerifiedDataset, ...] = ()
    """One entry for each manifest, and one for each dataset without a manifest whose shards are incomplete."""

    @property
    def records(self) -> int:
        """Records whose checksums match.

        >>> ps.verify("train").records
        100
        """
        return sum(file.records for file in self.files)

    @property
    def bytes(self) -> int:
        """The size of their frames, uncompressed.

        >>> ps.verify("train").bytes
        6660
        """
        return sum(file.bytes for file in self.files)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong: with the files in order, then with the datasets.

        >>> [problem.kind for problem in ps.verify(["train", "gone.tfrecord"]).problems]
        ['not-found']
        """
        found: list[VerifiedFile | VerifiedDataset] = [*self.files, *self.datasets]
        return tuple(problem for entry in found for problem in entry.problems)

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the report as JSON values; ``advise`` returns an ``"advice"`` for each problem."""
        datasets = [VerifiedFile(dataset.path, problems=dataset.problems) for dataset in self.datasets]
        return {
            "files": [file._document(advise) for file in (*self.files, *datasets)],
            "records": self.records,
            "problems": len(self.problems),
        }

    @property
    def summary(self) -> str:
        """The result in one line, without ``ok`` or ``not ok``.

        >>> ps.verify("train").summary
        '4 files and 1 manifest, 100 records, 6.7 kB; every checksum matches'
        """
        manifests = [dataset for dataset in self.datasets if dataset.has_manifest]
        kinds = [(entries, kind) for entries, kind in ((self.files, "file"), (manifests, "manifest")) if entries]
        size = size_text(self.bytes)
        if self.ok:
            checked = " and ".join(plural(len(entries), kind) for entries, kind in kinds)
            return f"{checked}, {plural(self.records, 'record')}, {size}; every checksum matches{self._remarks()}"
        bad = " and ".join(
            f"{sum(bool(entry.problems) for entry in entries)} of {plural(len(entries), kind)}"
            for entries, kind in kinds
        )
        good = f"{plural(self.records, 'record')} whose checksums match"
        return f"{plural(len(self.problems), 'problem')} in {bad or 'no file'}, {good}, {size}{self._remarks()}"

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:_MAX_LINES]]
        lines += ["..."] if len(self.problems) > _MAX_LINES else []
        return "\n".join([*lines, f"{'ok' if self.ok else 'not ok'}: {self.summary}"])

    def _remarks(self) -> str:
        """Return what is unusual, but no damage: empty files, payloads that are not Examples, nothing to decode."""
        empty = sum(not file.records and not file.problems for file in self.files)
        others = [file for file in self.files if file.examples is False]
        seem = ", ".join(dict.fromkeys(file.seems for file in others if file.seems is not None))
        remark = f"; {plural(empty, 'file')} {'has' if empty == 1 else 'have'} no records" if empty else ""
        remark += f"; the payloads of {plural(len(others), 'file')} are not Examples" if others else ""
        remark += f" (they seem to be {seem})" if seem else ""
        plain = sum(file.decoded == () for file in self.files)
        return remark + (f"; {plural(plain, 'file')} without images or tensors in a schema" if plain else "")


def verify(
    paths: StrPath | Iterable[StrPath],
    *,
    compression: str | None = "auto",
    max_record_bytes: int = 1 << 30,
    decode: bool = False,
    jobs: int | None = None,
    progress: bool = False,
) -> VerifyReport:
    """Read files whole and check every checksum and every Example.

    >>> print(ps.verify("train"))
    ok: 4 files and 1 manifest, 100 records, 6.7 kB; every checksum matches

    Examples are checked against the manifest or schema file of the dataset, if there is one. A dataset, given as its
    directory, its name or its manifest, is also compared with the manifest: missing, changed and extra shards are
    problems. Problems do not raise. Every byte of a file that is not damaged is read once.

    Args:
        paths: Files, glob patterns, directories, URLs, and datasets by their name or manifest.
        compression: How the files are compressed; ``"auto"`` detects it from their content.
        max_record_bytes: A longer record is damage, whatever its header says.
        decode: Also decode the images and tensors that the schema declares.
        jobs: Files to read at once; by default one per CPU.
        progress: Show a progress bar on standard error, if that is a terminal.
    """
    kind = None if compression == "auto" else check(compression)
    limit = int_at_least("max_record_bytes", max_record_bytes, 0)
    names = path_texts(paths)
    resolved = resolve_files(names, describe=True)
    # Missing shards and unreadable manifests are problems of their datasets.
    files = [file for file in resolved.files if file.error is None or file.manifest is None]
    jobs = jobs_for(len(files), jobs)
    threads = max(1, available_cpus() // jobs)
    verifier = _Verifier(resolved, kind, limit, decode, threads)
    verified = on_each_file(files, verifier.verify_file, jobs=jobs, title="verifying", show=progress)
    datasets = on_each_file(
        resolved.datasets, verifier.verify_dataset, jobs=jobs, title="comparing with manifests", show=progress
    )
    return VerifyReport(tuple(verified), (*datasets, *_incomplete_by_name(names, resolved)))


class _Verifier:
    """Verifies files, then datasets with the checksums of their files."""

    def __init__(
        self, resolved: Resolved, compression: Compression | None, max_record_bytes: int, decode: bool, threads: int
    ) -> None:
        self._resolved = resolved
        self._options: dict[str, Any] = {
            "compression": compression,
            "max_record_bytes": max_record_bytes,
            "decode": decode,
            "threads": threads,
        }
        self._schemas: dict[str, Schema] = {}
        self._checksums: dict[str, int] = {}

    def verify_file(self, file: ResolvedFile, progress: FileProgress) -> VerifiedFile:
        path = file.path
        if file.error is not None:
            progress.advance(1)
            return VerifiedFile(path, problems=(problem_of(path, file.error),))
        failure: list[Problem] = []
        check: FileCheck | None = None
        done = 0.0
        try:
            has_checksum = file.shard is not None and file.manifest in self._resolved.datasets
            check = FileCheck(path, self._schema_of(file), checksum=has_checksum, **self._options)
            file_size = locate(path)[0].stat(path).size
            for records in check.run():
                # How far a compressed file is read shows only at its end.
                now = min(0.99, check.bytes / file_size) if file_size else 0.0
                progress.advance(now - done, records)
                done = now
            if has_checksum and not check.damage:
                self._checksums[path] = check.crc32c
        except Exception as error:
            if not is_file_error(path, error):
                raise
            failure = [problem_of(path, error)]
        progress.advance(1 - done)
        return VerifiedFile(path, problems=tuple(failure)) if check is None else check.report(failure)

    def _schema_of(self, file: ResolvedFile) -> Schema | None:
        if file.schema is None:
            return None
        if file.schema not in self._schemas:
            self._schemas[file.schema] = self._resolved.load_schema(file.schema)
        return self._schemas[file.schema]

    def verify_dataset(self, path: str, progress: FileProgress) -> VerifiedDataset:
        folder, _ = split_path(path)
        try:
            if path in self._resolved.unreadable:
                raise self._resolved.unreadable[path]
            names = {shard.name: folder + shard.name for shard in self._resolved.manifests[path].shards}
            known = {name: self._checksums[file] for name, file in names.items() if file in self._checksums}
            findings = self._resolved.manifests[path].verify(folder or ".", checksums=known)
            problems = [Problem(folder + found.shard, f"manifest-{found.kind}", found.message) for found in findings]
        except Exception as error:
            if not is_file_error(path, error):
                raise
            problems = [problem_of(path, error)]
        progress.advance(1)
        return VerifiedDataset(path, tuple(problems))


def _incomplete_by_name(paths: list[str], resolved: Resolved) -> Iterator[VerifiedDataset]:
    """Return the datasets without a manifest that lack shards, judged by names like ``-00000-of-00004``.

    Only files below the directories among ``paths`` count: whoever names files wants no others.
    """
    folders = tuple(os.path.join(locate(path)[1], "") for path in paths if is_directory(path))
    with_manifest = {manifest.removesuffix(SUFFIX) for manifest in resolved.datasets}
    present = (path for path in resolved.paths if path.startswith(folders) and dataset_of(path) not in with_manifest)
    for missing in missing_shards(present):
        names = ", ".join(f"{number:05d}" for number in missing.first(_MAX_NUMBERS))
        names += " ..." if len(missing) > _MAX_NUMBERS else ""
        are = "is" if len(missing) == 1 else "are"
        count = f"{len(missing):,} of {missing.count:,} shards"
        cause = f"{count} {are} missing, judged by the names of the others: {names}"
        yield VerifiedDataset(missing.pattern, (Problem(missing.pattern, "shard-missing", cause),), has_manifest=False)


def is_directory(path: str) -> bool:
    """Return whether a path is a directory that can be opened."""
    with suppress(OSError):
        return is_folder(*locate(path))
    return False
