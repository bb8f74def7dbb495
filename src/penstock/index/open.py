"""Open the index of a file: a stored one that fits, or a new one."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np

from penstock.arguments import one_of
from penstock.compression import check_or_auto
from penstock.errors import CorruptDataError, IndexFileError, PenstockError
from penstock.index.build import build_index, check_unchanged, known_identity, measure
from penstock.index.cache import (
    cache_folder,
    mark_used,
    path_in_cache,
    read_index,
    sidecar_path,
    tidy_once,
    write_index,
)
from penstock.index.file_identity import Identity
from penstock.index.foreign_formats import find_foreign
from penstock.index.restarts import MAY_RESTART
from penstock.index.shard_index import Lengths, ShardIndex, Uint64s
from penstock.progress import ProgressBar
from penstock.records.read_options import IndexLocation, ReadOptions
from penstock.storage import StrPath, locate, split_path


def open_index(
    path: StrPath,
    *,
    compression: str | None = "auto",
    where: IndexLocation = "cache",
    stale: Literal["rebuild", "error"] = "rebuild",
    max_record_bytes: int = 1 << 30,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> ShardIndex:
    """Return the index of a file: a stored one that fits the file, or one that is built and then stored.

    Args:
        path: A local path, or a URL that fsspec knows. A stream has no index.
        compression: ``"auto"`` detects it from the content; or ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"``, ``""`` (none).
        where: Store a new index in the user's ``"cache"`` folder, in a hidden ``"sidecar"`` file next to the data, or
            not at all (``"none"``). A sidecar index is always used, one in the cache unless this is ``"none"``.
        stale: What to do about a sidecar index that belongs to other data: warn and ``"rebuild"`` it, or raise
            :class:`penstock.StaleIndexError` (``"error"``).
        max_record_bytes: A longer record is an error, whatever its header says.
        threads: Native threads that walk a local file; by default one per CPU.
        progress: Show a progress bar if it takes long and standard error is a terminal; or a function, which is
            called with the number of bytes done and the size of the file.
    """
    one_of("where", where, get_args(IndexLocation))
    options = ReadOptions(
        compression=check_or_auto(compression),
        max_record_bytes=max_record_bytes,
        threads=threads,
        index=where,
    )
    return find_or_build(path, options, stale=stale, progress=progress)


def find_or_build(
    path: StrPath,
    options: ReadOptions,
    *,
    stale: Literal["rebuild", "error"] = "rebuild",
    progress: Progress | bool = True,
) -> ShardIndex:
    """Return the index of a file as :func:`open_index` does, with options that are checked already."""
    store, name = locate(path)
    identity = known_identity(store, name)
    index = _find(name, identity, options, stale)
    if index is None or _lacks_restarts(index):
        with reporting(name, identity.size, progress) as report:
            index = build_index(store, name, identity, options, report)
        _store(name, index, options.index)
    index.measure = partial(_measure_and_store, name, options)
    return index


def _lacks_restarts(index: ShardIndex) -> bool:
    """Return whether an earlier version made the index, without looking for restart points."""
    return index.compression in MAY_RESTART and index.members is None and not index.restarts_sought


def load_index(path: StrPath, *, compression: str | None = "auto", where: IndexLocation = "cache") -> ShardIndex | None:
    """Return the stored index of a file, or None if there is none that fits; nothing is built."""
    store, name = locate(path)
    options = ReadOptions(compression=check_or_auto(compression), index=where)
    index = _find(name, known_identity(store, name), options, "rebuild")
    if index is not None:
        index.measure = partial(_measure_and_store, name, options)
    return index


def renew_index(path: str, options: ReadOptions) -> bool:
    """Rebuild the index of a local file whose records are not where the stored one says; return whether that worked.

    If the headers of the file are damaged, the file is wrong and the index stays: a repair uses it.
    """
    store, name = locate(path)
    try:
        index = build_index(store, name, known_identity(store, name), options, lambda done: None)
    except (OSError, CorruptDataError):
        return False
    _store(name, index, options.index)
    if options.index != "sidecar" and os.path.exists(sidecar_path(name)):
        _store(name, index, "sidecar")  # it takes precedence over the cache
    return True


def known_starts(path: StrPath) -> Uint64s | None:
    """Return where the records of a damaged file start, by its index; None without a usable index."""
    try:
        index = load_index(path)
        return None if index is None else index.locations(np.arange(index.records))[0]
    except (OSError, PenstockError, ValueError):
        return None  # the index of a damaged file may be damaged as well


def _find(path: str, identity: Identity, options: ReadOptions, stale: str) -> ShardIndex | None:
    sidecar = sidecar_path(path)
    index = None
    try:
        index = read_index(sidecar, identity)
    except IndexFileError as error:
        if stale == "error":
            raise
        warnings.warn(f"an index is skipped: {error}", stacklevel=3)
    if index is None and options.index == "cache":
        try:
            index = read_index(path_in_cache(identity), identity)
            mark_used(path_in_cache(identity))
        except IndexFileError:
            pass  # it is rebuilt
    if index is None and options.compression in (None, ""):
        index = find_foreign(path, identity)
    return index if index is not None and options.compression in (None, index.compression) else None


def _store(path: str, index: ShardIndex, where: IndexLocation) -> None:
    if where == "sidecar":
        write_index(sidecar_path(path), index)
    elif where == "cache":
        try:
            write_index(path_in_cache(index.identity), index)
            tidy_once(cache_folder())
        except OSError:
            pass  # read-only folder or full disk: it is built again the next time


def _measure_and_store(path: str, options: ReadOptions, index: ShardIndex) -> Lengths:
    """Inflate a file to find the lengths of its records; only its gzip members were known."""
    store, _ = locate(path)
    lengths = measure(store, path, index.compression, options)
    check_unchanged(store, path, index.identity)
    if index.members is not None and not index.members.agree_with(lengths):
        raise CorruptDataError(
            f"the gzip members hold other records than their headers state: {path}", path=path, kind="inflate"
        )
    _store(path, index.with_lengths(lengths), options.index)
    return lengths


Progress: TypeAlias = Callable[[int, int], None]
"""Called at intervals with the number of bytes done and the size of the file."""
_LOG = logging.getLogger("penstock.index")
_SHOWN_AFTER_SECONDS = 1.0


@contextmanager
def reporting(path: str, size: int, progress: Progress | bool) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of bytes done; for ``progress`` see :func:`open_index`."""
    _LOG.info("building the index of %s (%.2f GB)", path, size / 1e9)
    if callable(progress):
        call = progress
        yield lambda done: call(done, size)
        return
    _, name = split_path(path)
    # A name may contain control sequences of a terminal.
    title = f"building the index of {name if name.isprintable() else ascii(name)}"
    with ProgressBar(title, size, "bytes", show=progress, after=_SHOWN_AFTER_SECONDS) as bar:
        yield bar.reach
