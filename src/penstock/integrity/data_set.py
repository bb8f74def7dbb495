"""Repairs all shards of a data set, and describes what is left of it in a new manifest."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as changed

from penstock import _core
from penstock.cpus import available_cpus
from penstock.errors import CorruptDataError
from penstock.files import StrPath, find_files, locate, make_folder_of, split_path
from penstock.integrity.one_file import Salvaging, check_target, save_records, without_extension
from penstock.integrity.report import RepairReport
from penstock.manifest import SUFFIX, Manifest, Shard


def repair_data_set(
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
    """Repair every file of a folder, or of a data set that its manifest names, into a new folder.

    Files keep their names. Where there is a manifest, a new one is written last, with what the new shards hold; shards
    that are missing are reported and left out. Records in doubt go to ``_<name>.doubtful.tfrecord``, which readers of
    the folder pass over.

    Args:
        source: A folder, or the manifest of a data set.
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
    """Answer the files that manifests name, and how many records each holds."""
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
    """Answer where a file goes: to the same place below the target that it has below its folder."""
    if target is None:
        return None
    inside = file[len(folder) :].lstrip(f"/{os.sep}") if file.startswith(folder) else split_path(file)[1]
    return f"{locate(target)[1].rstrip('/')}/{inside}"
