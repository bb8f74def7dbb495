"""Opens the index of a file: the one that is kept, where it fits, or a new one."""

from __future__ import annotations

import os
import warnings
from functools import partial
from typing import Literal, TypeAlias

from penstock.errors import CorruptDataError, IndexFileError
from penstock.files import StrPath, locate
from penstock.index.build import Building, Progress, build_index, check_unchanged, known_identity, measure
from penstock.index.identity import Identity
from penstock.index.keep import path_beside, path_in_cache, read_index, write_index
from penstock.index.lengths import Lengths
from penstock.index.shard_index import ShardIndex

Where: TypeAlias = Literal["cache", "beside", "none"]


def open_index(
    path: StrPath,
    *,
    compression: str = "auto",
    where: Where = "cache",
    max_record_bytes: int = 1 << 30,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ShardIndex:
    """Answer the index of a file: one that is kept, where it fits the file, or one that is built and then kept."""
    store, name = locate(path)
    building = Building(compression, max_record_bytes, threads or min(4, os.cpu_count() or 1))
    found = _find(name, known_identity(store, name), building, where)
    if found is None:
        found = build_index(name, building, progress)
        _keep(name, found, where)
    found.measure = partial(_measure_and_keep, name, building, where)
    return found


def load_index(path: StrPath, *, compression: str = "auto", where: Where = "cache") -> ShardIndex | None:
    """Answer the index that is kept of a file, or None where there is none that fits."""
    store, name = locate(path)
    building = Building(compression)
    found = _find(name, known_identity(store, name), building, where)
    if found is not None:
        found.measure = partial(_measure_and_keep, name, building, where)
    return found


def _find(path: str, identity: Identity, building: Building, where: Where) -> ShardIndex | None:
    for place in (path_beside(path), path_in_cache(identity)):
        try:
            index = read_index(place, identity)
        except IndexFileError as error:
            # In the cache an index is nobody's work; beside the data, somebody put it there.
            if place == path_beside(path):
                warnings.warn(f"an index is passed over: {error}", stacklevel=3)
            continue
        if index is not None and building.compression in ("auto", index.compression):
            return index
    return None


def _keep(path: str, index: ShardIndex, where: Where) -> None:
    if where == "beside":
        write_index(path_beside(path), index)
    elif where == "cache":
        try:
            write_index(path_in_cache(index.identity), index)
        except OSError:
            pass  # a folder that cannot be written to, or a full disk: the next one who asks builds it again


def _measure_and_keep(path: str, building: Building, where: Where, index: ShardIndex) -> Lengths:
    """Inflate a file whose members told how many records they hold, for the lengths of these."""
    store, _ = locate(path)
    lengths = measure(path, index.compression, building)
    check_unchanged(store, path, index.identity)
    members = index.members
    if lengths.count != index.records or (members and lengths.stream_bytes != int(members.stream_offset[-1])):
        raise CorruptDataError(f"the gzip members hold other records than they tell: {path}", path=path, kind="inflate")
    _keep(path, index.with_lengths(lengths), where)
    return lengths
