"""Prepare a file for appending: find where its records end, and cut off what a crash left after them.

A file is appended to in place. Damage is accepted only at its very end, where a killed writer leaves an incomplete
record or gzip member; it is cut off, and saved in ``.<name>.torn`` in the same folder. While it is appended to, the
file is locked against other writers, and the manifest that lists it marks it, so that readers know it after a crash.
"""

from __future__ import annotations

import errno
import os
import warnings
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any

from penstock import _core
from penstock.compression import Compression, check, detect
from penstock.compression.detect import HEAD_BYTES, by_extension
from penstock.errors import CorruptDataError
from penstock.manifest import SUFFIX, Manifest
from penstock.parallel import available_cpus
from penstock.records.damage import error_of
from penstock.records.read_options import ReadOptions
from penstock.records.scanner import RecordScanner
from penstock.storage import Upload
from penstock.storage.local import LocalFiles, LocalUpload

_STRIDE = 64 << 20
_PIECE = 1 << 20
_ANY_LENGTH = 1 << 62
_REPAIR = "only an incomplete end can be appended to: write what is good to a new file with  penstock repair"


@dataclass(frozen=True)
class End:
    """Where the whole records of a file end."""

    offset: int
    records: int
    compression: Compression
    is_torn: bool = False
    """Whether what follows is the start of a record, or of a gzip member, that was never completed."""


class Appending:
    """A local file that is appended to, locked until it is finished."""

    def __init__(self, path: str, compression: str | None, *, sync: bool) -> None:
        self._path = path
        self._sync = sync
        if not os.path.exists(path):
            find_end(path, compression)  # raises, before the file is created, if it could not be appended to
        self._lock = _lock(path)
        try:
            self.end = find_end(path, compression)
            """Where to append; what follows is cut off."""
            self._manifests = _manifests_of(path)
            for name, manifest in self._manifests.items():
                _changed(manifest, path, is_appended=True).save(name, sync=sync)
            if self.end.is_torn:
                self._save_torn()
        except BaseException:
            self.release()
            raise

    def open(self) -> Upload:
        """Open the file to write after its last whole record; what follows that is cut off."""
        return LocalUpload(self._path, atomic=False, offset=self.end.offset)

    def finish(self, records: int) -> None:
        """Update the manifest with the size, the checksum and the number of records."""
        if self._manifests:
            size = crc = 0
            with closing(LocalFiles().stream(self._path)) as pieces:
                for piece in pieces:
                    size += len(piece)
                    crc = _core.crc32c(piece, crc)
            for name, manifest in self._manifests.items():
                now = _changed(manifest, self._path, records=records, bytes=size, crc32c=crc, is_appended=False)
                now.save(name, sync=self._sync)
        self.release()

    def release(self) -> None:
        """Release the lock, as the system does when the process ends, however that happens."""
        if self._lock is not None:
            _unlock(self._lock)
            self._lock = None

    def _save_torn(self) -> None:
        torn = _copy_tail(self._path, self.end.offset)
        cut = os.path.getsize(self._path) - self.end.offset
        warnings.warn(
            f"{self._path} ends with an incomplete record: its last {cut} bytes, from byte {self.end.offset} on, are "
            f"cut off and saved in {torn}",
            stacklevel=4,
        )


def find_end(path: str, compression: str | None) -> End:
    """Find where the whole records of a file end; raise if it is damaged before that, or cannot be appended to."""
    wanted = None if compression == "auto" else check(compression)
    files = LocalFiles()
    try:
        head = files.read(path, 0, HEAD_BYTES)
    except FileNotFoundError:
        head = b""
    if not head:
        kind = by_extension(path) if wanted is None else wanted
        return End(0, 0, _check_kind(path, kind))
    kind = detect(head)
    if wanted is not None and wanted != kind:
        raise ValueError(f"{path} is {kind or 'not compressed'}, and cannot go on with compression={compression!r}")
    _check_kind(path, kind)
    try:
        return _end_of_gzip(path) if kind else _end_of_frames(path)
    except CorruptDataError as error:
        error.add_note(_REPAIR)
        raise


def _lock(path: str) -> int | None:
    """Lock a file against other writers; return the descriptor that holds the lock, if the system has locks."""
    try:
        import fcntl
    except ImportError:
        return None  # on Windows
    lock = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise BlockingIOError(errno.EAGAIN, "another writer is appending to it", path) from None
    except OSError:
        pass  # the file system has no locks
    return lock


def _unlock(lock: int) -> None:
    import fcntl

    with suppress(OSError):  # the file system has no locks
        fcntl.flock(lock, fcntl.LOCK_UN)  # after closing alone, children forked meanwhile would still hold it
    with suppress(OSError):  # nothing was written through this descriptor
        os.close(lock)


def _changed(manifest: Manifest, path: str, **what: Any) -> Manifest:
    name = os.path.basename(path)
    shards = (replace(shard, **what) if shard.name == name else shard for shard in manifest.shards)
    return replace(manifest, shards=tuple(shards))


def _manifests_of(path: str) -> dict[str, Manifest]:
    folder, name = os.path.split(path)
    found = {}
    for entry in os.listdir(folder or "."):
        # The names of shards start with that of their dataset: other manifests cannot list this file.
        if entry.endswith(SUFFIX) and name.startswith(entry.removesuffix(SUFFIX)):
            manifest = Manifest.load(os.path.join(folder, entry))
            if any(shard.name == name for shard in manifest.shards):
                found[os.path.join(folder, entry)] = manifest
    return found


def _check_kind(path: str, kind: Compression) -> Compression:
    if kind in ("ZLIB", "SNAPPY"):
        raise ValueError(f"{path}: a {kind} file cannot be appended to; plain and GZIP files can")
    return kind


def _end_of_frames(path: str) -> End:
    walk = _core.HeaderWalk(path, max_record_bytes=_ANY_LENGTH, threads=available_cpus(), keep_lengths=True)
    last = 0
    more = True
    while more:
        more = walk.advance(_STRIDE)
        lengths = walk.take_lengths()
        last = int(lengths[-1]) + 16 if len(lengths) else last
    fault = walk.fault
    if fault.kind == "none" and not _is_whole(path, walk.position - last, walk.position):
        # After a loss of power a file may have its full size but not its last bytes.
        return End(walk.position - last, walk.records - 1, "", is_torn=True)
    torn = fault.kind.startswith("truncated") or (fault.kind == "length-crc" and _is_zero(path, fault.offset))
    if fault.kind != "none" and not torn:
        raise error_of(fault, path)
    return End(walk.position, walk.records, "", torn)


def _is_whole(path: str, start: int, stop: int) -> bool:
    stretches, *_ = _core.salvage_scan(path, start, stop, max_record_bytes=_ANY_LENGTH, flat=True)
    return all(stretch.kind == "whole" for stretch in stretches)


def _end_of_gzip(path: str) -> End:
    """Skip over members that state their size and records; read those of other writers record by record."""
    from penstock.compression.gzip import EMPTY_FILE, HEADER_BYTES, inflate_member, sized_member

    size = os.path.getsize(path)
    files = LocalFiles()
    offset = records = 0
    last: tuple[int, int] | None = None
    while offset < size:
        head = files.read(path, offset, offset + HEADER_BYTES)
        member = sized_member(head)
        if head == EMPTY_FILE and size - offset == len(EMPTY_FILE):
            # TensorFlow takes an empty member for the end of the file, so nothing may follow it.
            return End(offset, records, "GZIP")
        if member is None and offset and (_is_zero(path, offset) or len(head) < HEADER_BYTES):
            return End(offset, records, "GZIP", is_torn=True)
        if member is None:
            return End(size, _count(path), "GZIP")
        if member.size > size - offset:
            return End(offset, records, "GZIP", is_torn=True)
        last = offset, member.size
        offset, records = offset + member.size, records + member.records
    if last is not None and inflate_member(files.read(path, last[0], sum(last))) is None:
        _count(path)  # raises, and reports what is wrong and where
    return End(offset, records, "GZIP")


def _count(path: str) -> int:
    """Count the records of a file and check all checksums."""
    options = ReadOptions(compression="GZIP", max_record_bytes=_ANY_LENGTH)
    return sum(map(len, RecordScanner(LocalFiles(), path, options).chunks()))


def _is_zero(path: str, start: int) -> bool:
    with open(path, "rb", buffering=0) as file:
        file.seek(start)
        while piece := file.read(_PIECE):
            if piece != bytes(len(piece)):
                return False
    return True


def _copy_tail(path: str, start: int) -> str:
    """Copy what follows ``start`` to a file next to it, synced to the disk; earlier copies are not overwritten."""
    folder, name = os.path.split(path)
    torn = os.path.join(folder, f".{name}.torn")
    with open(path, "rb", buffering=0) as file, open(torn, "ab") as copy:
        file.seek(start)
        while piece := file.read(_PIECE):
            copy.write(piece)
        copy.flush()
        os.fsync(copy.fileno())
    return torn
