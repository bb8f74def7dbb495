"""Finds where the records of a file are: by its headers, by its gzip members, or by one pass over all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from penstock import _core
from penstock.compression import Compression, check, detect
from penstock.compression.detect import HEAD_BYTES
from penstock.damage import error_of, lookalike
from penstock.errors import CorruptDataError
from penstock.files import FileStore, locate
from penstock.files.local import LocalFiles, naming
from penstock.index.identity import Identity, identify
from penstock.index.lengths import Lengths, narrowed
from penstock.index.members import hop_members
from penstock.index.shard_index import ShardIndex
from penstock.reader import RecordReader

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with the bytes that are done and those that there are."""

# Bytes that are walked between two looks at Ctrl-C and the progress.
_STRIDE = 64 << 20


@dataclass(frozen=True)
class Building:
    """How to read a file to index it."""

    compression: str = "auto"
    max_record_bytes: int = 1 << 30
    threads: int = 1


def build_index(path: str, building: Building, progress: Progress | None = None) -> ShardIndex:
    """Index a file as it is now; damage to its headers is an error."""
    store, name = locate(path)
    identity = known_identity(store, name)
    kind = compression_of(store, name, building.compression)
    local = isinstance(store, LocalFiles)
    members = hop_members(name, identity.size) if local and kind == "GZIP" else None
    if members is not None:
        records, lengths = int(members.first_record[-1]), None
    else:
        lengths = _walk(store, name, building, progress) if local and not kind else measure(name, kind, building)
        records = lengths.count
    check_unchanged(store, name, identity)
    return ShardIndex(identity=identity, compression=kind, records=records, lengths=lengths, members=members)


def check_unchanged(store: FileStore, path: str, identity: Identity) -> None:
    """Refuse what was found in a file that is not the same any more."""
    if identify(store, path) != identity:
        raise CorruptDataError(f"the file changed while it was indexed: {path}", path=path, kind="changed")


def known_identity(store: FileStore, path: str) -> Identity:
    """Answer the identity of a file; a stream has none, and no index."""
    identity = identify(store, path)
    if identity is None:
        raise OSError(29, "a stream cannot be indexed, for it is read only once", path)
    return identity


def compression_of(store: FileStore, path: str, asked: str) -> Compression:
    """Answer how a file is compressed; ``"auto"`` tells by content."""
    return detect(store.read(path, 0, HEAD_BYTES)) if asked == "auto" else check(asked)


def _walk(store: FileStore, path: str, building: Building, progress: Progress | None) -> Lengths:
    """Walk the headers of a local plain file."""
    parts = []
    with naming(path):
        walk = _core.FrameWalk(
            path, max_record_bytes=building.max_record_bytes, threads=building.threads, keep_lengths=True
        )
        more = True
        while more:
            more = walk.advance(_STRIDE)
            parts.append(narrowed(walk.take_lengths()))
            if progress:
                progress(walk.position, walk.file_size)
    if walk.fault.kind != "none":
        hint = lookalike(store.read(path, 0, HEAD_BYTES)) if walk.fault.offset == 0 else ""
        raise error_of(walk.fault, path, hint)
    return Lengths.of(parts)


def measure(path: str, kind: Compression, building: Building) -> Lengths:
    """Read all of a file, and note how long its records are."""
    reader = RecordReader(path, compression=kind, verify=False, max_record_bytes=building.max_record_bytes)
    return Lengths.of([narrowed(chunk.spans[:, 1]) for chunk in reader.chunks()])
