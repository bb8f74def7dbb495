"""Writes what can be saved of a damaged file, or of a data set, to a new one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

from penstock._core import RecordChunk
from penstock.compression import Compression, check
from penstock.cpus import available_cpus
from penstock.errors import CorruptDataError
from penstock.files import StrPath, locate, make_folder_of
from penstock.index import known_starts
from penstock.integrity.report import RepairReport
from penstock.record_events import ReadOptions, RecordEvents
from penstock.salvage import Doubtful, Salvaged
from penstock.writer import RecordWriter

_EXTENSIONS = re.compile(r"(\.(tfrecords?|tfrec|record))?(\.(gz|gzip|zlib|zz|snappy))?$")


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


def without_extension(path: str) -> str:
    """Answer a path without what says that it is a TFRecord, and how compressed."""
    return _EXTENSIONS.sub("", path)


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
