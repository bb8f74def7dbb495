"""Write the records that can be saved of a damaged file, or dataset, to a new one."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from dataclasses import replace as changed
from functools import partial
from typing import Any

from penstock import _core
from penstock._core import RecordChunk
from penstock.compression import by_extension, check_or_auto
from penstock.discovery.resolve import ResolvedFile, resolve_files
from penstock.errors import CorruptDataError
from penstock.index import known_starts
from penstock.integrity.problems import Problem, problem_of
from penstock.integrity.report import Report, plural
from penstock.manifest import Manifest, Shard
from penstock.parallel import available_cpus, jobs_for
from penstock.progress import ProgressBar, on_terminal
from penstock.records.read_options import ReadOptions
from penstock.records.salvage import Doubtful, Salvaged
from penstock.records.scanner import RecordScanner
from penstock.records.writer import RecordWriter
from penstock.storage import StrPath, is_folder, locate, make_folder_of, split_path
from penstock.storage.shard_names import without_extension


@dataclass(frozen=True)
class RepairReport(Report):
    """What was saved of one damaged file.

    >>> report = ps.repair("train-00000-of-00004.tfrecord", None)
    >>> print(report)
    train-00000-of-00004.tfrecord: 25 good records, nothing is damaged
    """

    source: str
    target: str | None
    """The new file; None if it was not written."""
    records: int
    """Records that were saved: all outside the damage."""
    doubtful: int
    """Records that may be inside the payload of a damaged record."""
    doubtful_target: str | None
    """The file with these records, if there are any."""
    damage: tuple[CorruptDataError, ...]
    """What is damaged, in order: ``offset`` to ``stop`` is lost, in the uncompressed stream."""
    expected: int | None = None
    """Records that the file had, by the manifest of its dataset; None if there is none."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The damage, with what most likely happened.

        >>> ps.repair("train-00000-of-00004.tfrecord", None).problems
        ()
        """
        return tuple(problem_of(self.source, error) for error in self.damage)

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged.

        >>> ps.repair("train-00000-of-00004.tfrecord", None).ok
        True
        """
        return not self.damage

    @property
    def lost_ranges(self) -> list[tuple[int, int | None]]:
        """The bytes that no record could be read from; None is an end that is not known.

        >>> ps.repair("train-00000-of-00004.tfrecord", None, max_record_bytes=50).lost_ranges[:2]
        [(129, 196), (196, 264)]
        """
        return [(error.offset or 0, error.stop) for error in self.damage if error.kind != "doubtful"]

    @property
    def lost_bytes(self) -> int:
        """The size of :attr:`lost_ranges`, without those whose end is not known.

        >>> ps.repair("train-00000-of-00004.tfrecord", None, max_record_bytes=50).lost_bytes
        1020
        """
        return sum(stop - start for start, stop in self.lost_ranges if stop is not None)

    @property
    def causes(self) -> dict[str, int]:
        """How often each kind of damage occurs.

        >>> ps.repair("train-00000-of-00004.tfrecord", None, max_record_bytes=50).causes
        {'too-large': 15}
        """
        return dict(Counter(error.kind for error in self.damage))

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the report as JSON values; ``advise`` returns an ``"advice"`` for each problem."""
        return {
            "path": self.source,
            "target": self.target,
            "records": self.records,
            "expected": self.expected,
            "doubtful": self.doubtful,
            "doubtful_target": self.doubtful_target,
            "problems": [problem._document(advise) for problem in self.problems],
        }

    def __str__(self) -> str:
        total = "" if self.expected is None else f" of {self.expected:,}"
        doubt = f", {plural(self.doubtful, 'record')} in doubt" if self.doubtful else ""
        lost = "nothing is damaged" if self.ok else f"{plural(self.lost_bytes, 'byte')} lost"
        saved = f"{plural(self.records, 'good record')}{total}{doubt}, {lost}"
        return "\n".join([*map(str, self.problems), f"{self.target or self.source}: {saved}"])


def repair(
    source: StrPath,
    target: StrPath | None,
    *,
    compression: str | None = "auto",
    nested: bool | None = True,
    max_record_bytes: int = 1 << 30,
    replace: bool = False,
    sync: bool = False,
    progress: bool = False,
) -> RepairReport:
    """Write every record outside the damage of a file to a new file, and report what is lost.

    >>> report = ps.repair("train-00000-of-00004.tfrecord", "saved.tfrecord", replace=True)
    >>> report.records, report.doubtful, report.lost_ranges
    (25, 0, [])

    A payload may hold TFRecords. If the record around them is damaged, it is in doubt whether they are records of the
    file: they are written to a second file, ``saved.doubtful.tfrecord``. An index of the file, if there is one, settles
    it. The source is never changed; the target appears when it is complete.

    Args:
        source: The damaged file, local or a URL.
        target: The new file; its extension chooses its compression. None writes nothing and only reports.
        compression: How the source is compressed; ``"auto"`` detects it from its content.
        nested: Whether payloads may hold TFRecords, as in :class:`penstock.RecordReader`: True separates all records
            that are in doubt, None judges by the other records, False leaves nothing in doubt.
        max_record_bytes: A longer record is damage, whatever its header says.
        replace: Replace a target that exists.
        sync: Wait until the new files are on the disk.
        progress: Show a progress bar on standard error, if that is a terminal.
    """
    options = ReadOptions(
        compression=check_or_auto(compression),
        max_record_bytes=max_record_bytes,
        multistream=True,
        threads=None,
        on_damage="skip",
        nested=nested,
    )
    path = locate(source)[1]
    name = None if target is None else locate(target)[1]
    if name is not None:
        _check_target(path, name, replace=replace)
        make_folder_of(name)
    with _progress_bar([path], progress) as bar:
        return _save_records(path, name, _doubtful_target(name, prefix=""), options, sync, bar)


def _progress_bar(files: list[str], show: bool) -> ProgressBar:
    """Return a bar whose total is the size of the files; it has none if one is compressed, whose end is not known."""
    total = None
    if show and on_terminal() and not any(map(by_extension, files)):
        with suppress(OSError):  # the repair itself reports it
            total = sum(store.stat(name).size or 0 for store, name in map(locate, files))
    return ProgressBar("repairing", total, "bytes", show=show)


def _doubtful_target(target: str | None, *, prefix: str) -> str | None:
    """Return where records in doubt go, next to a target; readers of a folder skip names that start with ``_``."""
    if target is None:
        return None
    folder, name = split_path(target)
    return f"{folder}{prefix}{without_extension(name)}.doubtful.tfrecord"


def _save_records(
    source: str,
    target: str | None,
    doubtful_target: str | None,
    options: ReadOptions,
    sync: bool,
    bar: ProgressBar,
) -> RepairReport:
    """Write the good records of a file to ``target``, and those in doubt to ``doubtful_target``, unless None."""
    store, name = locate(source)
    scanner = RecordScanner(store, name, options, search_first=True, known_starts=partial(known_starts, name))
    records = doubtful = 0
    damage: list[CorruptDataError] = []
    with ExitStack() as stack:
        writer = None if target is None else stack.enter_context(RecordWriter(target, sync=sync))
        second: RecordWriter | None = None
        for event in stack.enter_context(closing(iter(scanner))):
            bar.advance(_bytes_of(event))
            if isinstance(event, CorruptDataError):
                damage.append(event)
            elif isinstance(event, RecordChunk):
                records += len(event)
                if writer is not None:
                    writer.write_many(list(event))
            elif isinstance(event, Doubtful):
                doubtful += len(event.chunk)
                if doubtful_target is not None:
                    second = second or stack.enter_context(RecordWriter(doubtful_target, compression="", sync=sync))
                    second.write_many(list(event.chunk))
    return RepairReport(name, target, records, doubtful, doubtful_target if second else None, tuple(damage))


def _bytes_of(event: Salvaged) -> int:
    """Return the bytes of the stream that an event covers; records in doubt come as two events, and count once."""
    if isinstance(event, CorruptDataError):
        return 0 if event.kind == "doubtful" or event.stop is None else event.stop - (event.offset or 0)
    chunk = event.chunk if isinstance(event, Doubtful) else event
    return int(chunk.spans[:, 1].sum()) + 16 * len(chunk)


def _check_target(source: str, target: str, *, replace: bool) -> None:
    """Raise if the target is the source, or exists and may not be replaced."""
    store, name = locate(target)
    if name == source or (os.path.exists(name) and os.path.exists(source) and os.path.samefile(name, source)):
        raise ValueError(f"the target is the source, which is never changed: {name}")
    if name == "-" or replace:
        return
    try:
        store.stat(name)
    except FileNotFoundError:
        return
    raise FileExistsError(errno.EEXIST, "The target exists; replace=True replaces it", name)


def repair_dataset(
    source: StrPath,
    target: StrPath | None,
    *,
    nested: bool | None = True,
    max_record_bytes: int = 1 << 30,
    replace: bool = False,
    sync: bool = False,
    jobs: int | None = None,
    progress: bool = False,
) -> list[RepairReport]:
    """Repair every file of a folder, or of the dataset of a manifest, into a new folder.

    Files keep their names. If there is a manifest, a new one that describes the new shards is written last; missing
    shards are reported and left out. Records in doubt go to ``_<name>.doubtful.tfrecord``, which readers of the folder
    skip.

    >>> reports = ps.repair_dataset("train.penstock.json", "saved", replace=True)
    >>> [report.records for report in reports]
    [25, 25, 25, 25]

    Args:
        source: A folder, or the manifest of a dataset.
        target: The new folder; None writes nothing and only reports.
        nested: Whether payloads may hold TFRecords, as in :func:`penstock.repair`.
        max_record_bytes: A longer record is damage, whatever its header says.
        replace: Replace files that exist.
        sync: Wait until the new files are on the disk.
        jobs: Files to repair at once; by default one per CPU.
        progress: Show a progress bar on standard error, if that is a terminal.

    Raises:
        ManifestError: A manifest cannot be read.
    """
    store, path = locate(source)
    resolved = resolve_files(path, describe=True)
    for error in (*resolved.unreadable.values(), *(file.error for file in resolved.files if file.shard is None)):
        if error is not None:
            raise error
    found = sorted(resolved.files, key=lambda file: file.path)
    files = [file.path for file in found]
    manifests = {entry: resolved.manifests[entry] for entry in resolved.datasets}
    folder = path.rstrip("/") if is_folder(store, path) else split_path(path)[0]
    new = {file: _new_path(file, folder, target) for file in [*files, *manifests]}
    for old, name in new.items():
        if name is not None:
            _check_target(old, name, replace=replace)
            make_folder_of(name)
    jobs = jobs_for(len(files), jobs)
    options = ReadOptions(
        max_record_bytes=max_record_bytes,
        multistream=True,
        threads=max(1, available_cpus() // jobs),
        on_damage="skip",
        nested=nested,
    )
    with _progress_bar(files, progress) as bar, ThreadPoolExecutor(jobs, thread_name_prefix="penstock-repair") as pool:
        reports = list(pool.map(lambda file: _repair_shard(file, new[file.path], options, sync, bar), found))
    for entry, manifest in manifests.items():
        if (name := new[entry]) is not None:
            _write_manifest(manifest, split_path(entry)[0], name, reports)
    return reports


def _repair_shard(
    file: ResolvedFile, target: str | None, options: ReadOptions, sync: bool, bar: ProgressBar
) -> RepairReport:
    try:
        report = _save_records(file.path, target, _doubtful_target(target, prefix="_"), options, sync, bar)
    except FileNotFoundError:
        missing = CorruptDataError(f"the file is missing: {file.path}", path=file.path, kind="missing")
        report = RepairReport(file.path, None, 0, 0, None, (missing,))
    return changed(report, expected=None if file.shard is None else file.shard.records)


def _write_manifest(manifest: Manifest, folder: str, target: str, reports: list[RepairReport]) -> None:
    """Write a manifest of the shards that were saved."""
    saved = {report.source: report for report in reports}
    shards = []
    for shard in manifest.shards:
        report = saved.get(folder + shard.name)
        if report is not None and report.target is not None:
            shards.append(_describe(shard, report.target, report.records))
    changed(manifest, shards=tuple(shards)).save(target)


def _describe(shard: Shard, path: str, records: int) -> Shard:
    store, name = locate(path)
    size = crc = 0
    for piece in store.stream(name):
        size += len(piece)
        crc = _core.crc32c(piece, crc)
    return changed(shard, records=records, bytes=size, crc32c=crc)


def _new_path(file: str, folder: str, target: StrPath | None) -> str | None:
    """Return where a file goes: to the same place below the target as below its folder."""
    if target is None:
        return None
    inside = file[len(folder) :].lstrip(f"/{os.sep}") if file.startswith(folder) else split_path(file)[1]
    return f"{locate(target)[1].rstrip('/')}/{inside}"
