"""Build an index: from the headers of a file, from its gzip members, or by reading all of it."""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias

from penstock import _core
from penstock.compression import Compression, detect
from penstock.compression.detect import HEAD_BYTES
from penstock.compression.restart_points import RestartFinder
from penstock.errors import CorruptDataError
from penstock.index.file_identity import Identity, identify
from penstock.index.gzip_members import MemberWatch, hop_members
from penstock.index.restarts import MAY_RESTART, restarts_of
from penstock.index.shard_index import Lengths, Members, Restarts, ShardIndex, narrowed
from penstock.records.damage import error_of, lookalike
from penstock.records.read_options import ReadOptions
from penstock.records.scanner import RecordScanner
from penstock.storage import FileInfo, FileStore, Upload
from penstock.storage.local import naming

ReportProgress: TypeAlias = Callable[[int], None]
"""Called at intervals with the number of bytes done."""
# Bytes between two checks for Ctrl-C and reports of progress.
_STRIDE = 64 << 20


def build_index(
    store: FileStore, path: str, identity: Identity, options: ReadOptions, report: ReportProgress
) -> ShardIndex:
    """Return the index of a file; raise if its headers are damaged."""
    kind = compression_of(store, path, options)
    lengths: Lengths | None = None
    members: Members | None = None
    restarts: Restarts | None = None
    if store.capabilities.native_paths and not kind:
        lengths = _walk(store, path, options, report)
    elif store.capabilities.native_paths and kind == "GZIP":
        members = hop_members(path, identity.size)
    if lengths is None and members is None:
        lengths, members, restarts = _read_through(store, path, identity.size, kind, options, report)
    check_unchanged(store, path, identity)
    return ShardIndex(
        identity=identity,
        compression=kind,
        lengths=lengths,
        members=members,
        restarts=restarts,
        restarts_sought=kind in MAY_RESTART and members is None,
    )


def check_unchanged(store: FileStore, path: str, identity: Identity) -> None:
    """Raise if a file has changed while it was indexed."""
    if identify(store, path) != identity:
        raise CorruptDataError(f"the file changed while it was indexed: {path}", path=path, kind="changed")


def known_identity(store: FileStore, path: str) -> Identity:
    """Return the identity of a file; raise for a stream, which cannot be indexed."""
    identity = identify(store, path)
    if identity is None:
        raise OSError(errno.ESPIPE, "a stream cannot be indexed: it can be read only once", path)
    return identity


def compression_of(store: FileStore, path: str, options: ReadOptions) -> Compression:
    """Return how a file is compressed, by the options or by its content."""
    return detect(store.read(path, 0, HEAD_BYTES)) if options.compression is None else options.compression


def _walk(store: FileStore, path: str, options: ReadOptions, report: ReportProgress) -> Lengths:
    """Walk the headers of a local plain file."""
    parts = []
    with naming(path):
        walk = _core.HeaderWalk(
            path, max_record_bytes=options.max_record_bytes, threads=options.thread_count, keep_lengths=True
        )
        more = True
        while more:
            more = walk.advance(_STRIDE)
            parts.append(narrowed(walk.take_lengths()))
            report(walk.position)
    if walk.fault.kind != "none":
        instead = lookalike(store.read(path, 0, HEAD_BYTES)) if walk.fault.offset == 0 else None
        raise error_of(walk.fault, path, instead)
    return Lengths.of(parts)


def _read_through(
    store: FileStore, path: str, size: int, kind: Compression, options: ReadOptions, report: ReportProgress
) -> tuple[Lengths, Members | None, Restarts | None]:
    """Read all of a file once, for the lengths of its records, and where reading a compressed one can start."""
    watch = MemberWatch(size)
    position = 0

    def see(piece: bytes) -> None:
        nonlocal position
        position += len(piece)
        watch.see(piece)
        report(position)

    finder = RestartFinder()
    lengths = measure(ProgressStore(store, see), path, kind, options, finder)
    if kind == "GZIP" and watch.members is not None and watch.members.agree_with(lengths):
        return lengths, watch.members, None
    return lengths, None, restarts_of(finder.bits, finder.offsets, finder.windows, lengths)


def measure(
    store: FileStore, path: str, kind: Compression, options: ReadOptions, finder: RestartFinder | None = None
) -> Lengths:
    """Read all of a file, and return the lengths of its records; ``finder`` collects restart points."""
    options = replace(options, compression=kind, verify=False, on_damage="raise")
    chunks = RecordScanner(store, path, options, finder=finder).chunks()
    return Lengths.of([narrowed(chunk.spans[:, 1]) for chunk in chunks])


class ProgressStore:
    """A store whose streams are passed to ``watch`` piece by piece."""

    def __init__(self, store: FileStore, watch: Callable[[bytes], None]) -> None:
        self._store = store
        self._watch = watch
        # Native threads would bypass ``watch``.
        self.capabilities = replace(store.capabilities, native_paths=False)

    def stream(self, path: str) -> Generator[bytes, None, None]:
        with closing(self._store.stream(path)) as pieces:
            for piece in pieces:
                self._watch(piece)
                yield piece

    def stat(self, path: str) -> FileInfo:
        return self._store.stat(path)

    def read(self, path: str, start: int, stop: int) -> bytes:
        return self._store.read(path, start, stop)

    def list(self, pattern: str, unreadable: Callable[[OSError], None] | None = None) -> list[str]:
        return self._store.list(pattern, unreadable)

    def put(self, path: str, *, atomic: bool) -> Upload:
        return self._store.put(path, atomic=atomic)

    def rename(self, source: str, target: str, *, sync: bool = False) -> None:
        self._store.rename(source, target, sync=sync)

    def remove(self, path: str) -> None:
        self._store.remove(path)
