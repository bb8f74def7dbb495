"""Writes what can be saved of a damaged file, or of a dataset, to a new one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from dataclasses import replace as changed
from functools import partial

from penstock import _core
from penstock._core import RecordChunk
from penstock.compression import Compression, check
from penstock.errors import CorruptDataError
from penstock.index import known_starts
from penstock.manifest import SUFFIX, Manifest, Shard
from penstock.parallel import available_cpus
from penstock.records.read_options import ReadOptions
from penstock.records.salvage import Doubtful, Salvaged
from penstock.records.scanner import RecordEvents
from penstock.records.writer import RecordWriter
from penstock.storage import StrPath, find_files, locate, make_folder_of, split_path
from penstock.storage.shard_names import without_extension


@dataclass(frozen=True)
class Salvaging:
    """How files are to be repaired; :func:`repair` says what each option means."""

    compression: Compression | None = None
    """None: tell by content."""
    nested: bool | None = True
    max_record_bytes: int = 1 << 30
    sync: bool = False
    progress: Callable[[int], object] | None = None
    threads: int = min(4, available_cpus())


def repair(
    source: StrPath,
    target: StrPath | None,
    *,
    compression: str | None = "auto",
    nested: bool | None = True,
    max_record_bytes: int = 1 << 30,
    replace: bool = False,
    sync: bool = False,
    progress: Callable[[int], object] | None = None,
) -> RepairReport:
    """Write every record outside the damage of a file to a new file, and say what is lost.

    >>> ps.repair("damaged.tfrecord", "saved.tfrecord").records
    993

    Records of which nobody knows whether they are the file's own, because a payload may hold TFRecords and the record
    around it is damaged, are written apart: to ``saved.doubtful.tfrecord``. An index of the file, where there is
    one, settles whose they are. The source is never changed; the target appears when it is complete.

    Args:
        source: The damaged file, local or a URL.
        target: The new file; its extension tells its compression. None writes nothing and only reports.
        compression: How the source is compressed; ``"auto"`` tells by content.
        nested: Whether payloads may hold TFRecords, as in :class:`penstock.RecordReader`: True keeps apart all that
            cannot be known, None judges by the other records, False leaves nothing in doubt.
        max_record_bytes: A longer record is damage, whatever its header says.
        replace: Replace a target that exists.
        sync: Wait until the new files are on the disk.
        progress: Called now and then with the bytes, of the uncompressed stream, that were gone through since.
    """
    kind = None if compression == "auto" else check(compression)
    how = Salvaging(kind, nested, max_record_bytes, sync, progress)
    if target is None:
        return save_records(source, None, None, how)
    _, name = locate(target)
    check_target(locate(source)[1], name, replace=replace)
    make_folder_of(name)
    return save_records(source, name, f"{without_extension(name)}.doubtful.tfrecord", how)


def save_records(source: StrPath, target: str | None, apart: str | None, how: Salvaging) -> RepairReport:
    """Write what can be saved of a file to ``target``, and what is in doubt to ``apart``, where they are given."""
    store, name = locate(source)
    options = ReadOptions(
        compression=how.compression,
        max_record_bytes=how.max_record_bytes,
        multistream=True,
        threads=how.threads,
        skip=True,
        search_first=True,
        nested=how.nested,
        known_starts=partial(known_starts, name),
    )
    records = doubtful = 0
    damage: list[CorruptDataError] = []
    with ExitStack() as stack:
        writer = None if target is None else stack.enter_context(RecordWriter(target, sync=how.sync))
        second: RecordWriter | None = None
        for event in stack.enter_context(closing(iter(RecordEvents(store, name, options)))):
            if how.progress is not None:
                how.progress(_bytes_of(event))
            if isinstance(event, CorruptDataError):
                damage.append(event)
            elif isinstance(event, RecordChunk):
                records += len(event)
                if writer is not None:
                    writer.write_many(list(event))
            elif isinstance(event, Doubtful):
                doubtful += len(event.chunk)
                if apart is not None:
                    second = second or stack.enter_context(RecordWriter(apart, compression="", sync=how.sync))
                    second.write_many(list(event.chunk))
    return RepairReport(name, target, records, doubtful, apart if second else None, tuple(damage))


def _bytes_of(event: Salvaged) -> int:
    """How much of the stream an event is about; what is in doubt is told twice, and counts once."""
    if isinstance(event, CorruptDataError):
        return 0 if event.kind == "doubtful" or event.stop is None else event.stop - (event.offset or 0)
    chunk = event.chunk if isinstance(event, Doubtful) else event
    return int(chunk.spans[:, 1].sum()) + 16 * len(chunk)


def check_target(source: str, target: str, *, replace: bool) -> None:
    """Raise where a target is the source, or exists and is not to be replaced."""
    store, name = locate(target)
    if name == source or (os.path.exists(name) and os.path.exists(source) and os.path.samefile(name, source)):
        raise ValueError(f"the target is the source, which is never changed: {name}")
    if name == "-" or replace:
        return
    try:
        store.stat(name)
    except FileNotFoundError:
        return
    raise FileExistsError(17, "The target exists; replace=True replaces it", name)


def repair_dataset(
    source: StrPath,
    target: StrPath | None,
    *,
    nested: bool | None = True,
    max_record_bytes: int = 1 << 30,
    replace: bool = False,
    sync: bool = False,
    jobs: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[RepairReport]:
    """Repair every file of a folder, or of a dataset that its manifest names, into a new folder.

    Files keep their names. Where there is a manifest, a new one is written last, with what the new shards hold; shards
    that are missing are reported and left out. Records in doubt go to ``_<name>.doubtful.tfrecord``, which readers of
    the folder pass over.

    Args:
        source: A folder, or the manifest of a dataset.
        target: The new folder; None writes nothing and only reports.
        nested: Whether payloads may hold TFRecords, as in :func:`penstock.repair`.
        max_record_bytes: A longer record is damage, whatever its header says.
        replace: Replace files that exist.
        sync: Wait until the new files are on the disk.
        jobs: Files to repair at once; by default one for each CPU core.
        progress: As in :func:`penstock.repair`; it is called on several threads.
    """
    store, path = locate(source)
    folder = split_path(path)[0] if path.endswith(SUFFIX) else path.rstrip("/")
    if path.endswith(SUFFIX):
        manifests = [path]
        expected = _named_in(manifests)
        files = list(expected)
    else:
        manifests = [entry for entry in store.list(folder) if entry.endswith(SUFFIX)]
        expected = _named_in(manifests)
        files = sorted({*find_files([path]), *expected})
    new = {file: _moved(file, folder, target) for file in [*files, *manifests]}
    for old, name in new.items():
        if name is not None:
            check_target(old, name, replace=replace)
            make_folder_of(name)
    jobs = max(1, min(len(files), jobs or available_cpus()))
    how = Salvaging(None, nested, max_record_bytes, sync, progress, threads=max(1, available_cpus() // jobs))
    with ThreadPoolExecutor(jobs, thread_name_prefix="penstock-repair") as pool:
        repaired = pool.map(lambda file: _repair_shard(file, new[file], how), files)
        reports = [changed(report, expected=expected.get(report.source)) for report in repaired]
    if target is not None:
        for manifest in manifests:
            _write_manifest(manifest, new[manifest], reports)
    return reports


def _named_in(manifests: list[str]) -> dict[str, int]:
    """Return the files that manifests name, and how many records each holds."""
    return {_beside(path, shard.name): shard.records for path in manifests for shard in Manifest.load(path).shards}


def _repair_shard(file: str, target: str | None, how: Salvaging) -> RepairReport:
    apart = None
    if target is not None:
        folder, name = split_path(target)
        apart = f"{folder}_{without_extension(name)}.doubtful.tfrecord"
    try:
        return save_records(file, target, apart, how)
    except FileNotFoundError:
        missing = CorruptDataError(f"the file is missing: {file}", path=file, kind="missing")
        return RepairReport(file, None, 0, 0, None, (missing,))


def _write_manifest(old: str, new: str | None, reports: list[RepairReport]) -> None:
    """Describe the shards that were saved."""
    manifest = Manifest.load(old)
    saved = {report.source: report for report in reports}
    shards = []
    for shard in manifest.shards:
        report = saved.get(_beside(old, shard.name))
        if report is not None and report.target is not None:
            shards.append(_describe(shard, report.target, report.records))
    if new is not None:
        changed(manifest, shards=tuple(shards)).save(new)


def _describe(shard: Shard, path: str, records: int) -> Shard:
    store, name = locate(path)
    size = crc = 0
    for piece in store.stream(name):
        size += len(piece)
        crc = _core.crc32c(piece, crc)
    return changed(shard, records=records, bytes=size, crc32c=crc)


def _beside(manifest: str, name: str) -> str:
    return split_path(manifest)[0] + name


def _moved(file: str, folder: str, target: StrPath | None) -> str | None:
    """Return where a file goes: to the same place below the target that it has below its folder."""
    if target is None:
        return None
    inside = file[len(folder) :].lstrip(f"/{os.sep}") if file.startswith(folder) else split_path(file)[1]
    return f"{locate(target)[1].rstrip('/')}/{inside}"


@dataclass(frozen=True)
class RepairReport:
    """What became of one damaged file."""

    source: str
    target: str | None
    """The new file; None where it was not written."""
    records: int
    """Records that were saved: all outside the damage."""
    doubtful: int
    """Records that may lie inside the payload of a damaged record."""
    doubtful_target: str | None
    """The file that these were written to, where there are any."""
    damage: tuple[CorruptDataError, ...]
    """What is damaged, in order: ``offset`` to ``stop`` is lost, in the uncompressed stream."""
    expected: int | None = None
    """Records that the file had, by the manifest of its dataset; None where there is none."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was damaged."""
        return not self.damage

    @property
    def lost_ranges(self) -> list[tuple[int, int | None]]:
        """The bytes that no record could be read from; None stands for an end that is not known."""
        return [(error.offset or 0, error.stop) for error in self.damage if error.kind != "doubtful"]

    @property
    def causes(self) -> dict[str, int]:
        """How often each kind of damage occurs."""
        return dict(Counter(error.kind for error in self.damage))
