"""Opens the index of a file: the one that is kept, where it fits, or a new one."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np

from penstock.compression import check_or_auto
from penstock.errors import CorruptDataError, IndexFileError, PenstockError
from penstock.index.build import Building, build_index, check_unchanged, known_identity, measure
from penstock.index.cache import cache_folder, mark_used, path_beside, path_in_cache, read_index, tidy_once, write_index
from penstock.index.file_identity import Identity
from penstock.index.foreign_formats import find_foreign
from penstock.index.shard_index import Lengths, ShardIndex, Uint64s
from penstock.parallel import available_cpus
from penstock.progress import ProgressBar
from penstock.storage import StrPath, locate, split_path

Where: TypeAlias = Literal["cache", "beside", "none"]


def open_index(
    path: StrPath,
    *,
    compression: str | None = "auto",
    where: Where = "cache",
    stale: Literal["rebuild", "error"] = "rebuild",
    max_record_bytes: int = 1 << 30,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> ShardIndex:
    """Return the index of a file: one that is kept, where it fits the file, or one that is built and then kept.

    Args:
        path: A local path, or a URL that fsspec knows. A stream has no index.
        compression: ``"auto"`` tells by content; or ``"GZIP"``, ``"ZLIB"``, ``"SNAPPY"``, ``""`` (none).
        where: Keep it in the user's ``"cache"`` folder, hidden ``"beside"`` the data, or not at all (``"none"``).
            An index that lies beside the data is used whatever this says, as is one in the cache unless it is
            ``"none"``.
        stale: What an index beside the data that belongs to other data does: a warning and a new index
            (``"rebuild"``), or a :class:`penstock.StaleIndexError` (``"error"``).
        max_record_bytes: A longer record is an error, whatever its header says.
        threads: Native threads that walk a local file; by default up to 4.
        progress: Show a progress bar where it takes long and standard error is a terminal; or a function, which is
            called with the bytes that are done and those that there are.
    """
    if where not in get_args(Where):
        raise ValueError(f"where must be one of {', '.join(map(repr, get_args(Where)))}, not {where!r}")
    store, name = locate(path)
    kind = check_or_auto(compression)
    identity = known_identity(store, name)
    building = Building(kind, max_record_bytes, threads or min(4, available_cpus()))
    index = _find(name, identity, kind, where, stale)
    if index is None:
        with reporting(name, identity.size, progress) as report:
            index = build_index(store, name, identity, building, report)
        _keep(name, index, where)
    index.measure = partial(_measure_and_keep, name, building, where)
    return index


def load_index(path: StrPath, *, compression: str | None = "auto", where: Where = "cache") -> ShardIndex | None:
    """Return the index that is kept of a file, or None where there is none that fits; nothing is built."""
    store, name = locate(path)
    kind = check_or_auto(compression)
    index = _find(name, known_identity(store, name), kind, where, "rebuild")
    if index is not None:
        index.measure = partial(_measure_and_keep, name, Building(kind), where)
    return index


def renew_index(path: str, *, compression: str, where: Where, max_record_bytes: int) -> bool:
    """Index a local file anew whose records are not where a kept index says; return whether they are elsewhere.

    Where the headers of the file are damaged it is the file that is wrong, and the index stays: a repair goes by it.
    """
    store, name = locate(path)
    building = Building(compression, max_record_bytes, min(4, available_cpus()))
    try:
        index = build_index(store, name, known_identity(store, name), building, lambda done: None)
    except (OSError, CorruptDataError):
        return False
    _keep(name, index, where)
    if where != "beside" and os.path.exists(path_beside(name)):
        _keep(name, index, "beside")  # it would be found before the one in the cache
    return True


def known_starts(path: StrPath) -> Uint64s | None:
    """Return where the records of a damaged file start, by an index of it; None where there is none that is of help."""
    try:
        index = load_index(path)
        return None if index is None else index.places(np.arange(index.records))[0]
    except (OSError, PenstockError, ValueError):
        return None  # of a damaged file even an index may be damaged


def _find(path: str, identity: Identity, compression: str, where: Where, stale: str) -> ShardIndex | None:
    beside = path_beside(path)
    index = None
    try:
        index = read_index(beside, identity)
    except IndexFileError as error:
        if stale == "error":
            raise
        warnings.warn(f"an index is passed over: {error}", stacklevel=3)
    if index is None and where == "cache":
        try:
            index = read_index(path_in_cache(identity), identity)
            mark_used(path_in_cache(identity))
        except IndexFileError:
            pass  # nobody's work: it is built again
    if index is None and compression in ("auto", ""):
        index = find_foreign(path, identity)
    return index if index is not None and compression in ("auto", index.compression) else None


def _keep(path: str, index: ShardIndex, where: Where) -> None:
    if where == "beside":
        write_index(path_beside(path), index)
    elif where == "cache":
        try:
            write_index(path_in_cache(index.identity), index)
            tidy_once(cache_folder())
        except OSError:
            pass  # a folder that cannot be written to, or a full disk: the next one who asks builds it again


def _measure_and_keep(path: str, building: Building, where: Where, index: ShardIndex) -> Lengths:
    """Inflate a file whose members told how many records they hold, for the lengths of these."""
    store, _ = locate(path)
    lengths = measure(store, path, index.compression, building)
    check_unchanged(store, path, index.identity)
    if index.members is not None and not index.members.agree_with(lengths):
        raise CorruptDataError(f"the gzip members hold other records than they tell: {path}", path=path, kind="inflate")
    _keep(path, index.with_lengths(lengths), where)
    return lengths


Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with the bytes that are done and those that there are."""
_LOG = logging.getLogger("penstock.index")
_SHOWN_AFTER_SECONDS = 1.0


@contextmanager
def reporting(path: str, size: int, progress: Progress | bool) -> Iterator[Callable[[int], None]]:
    """Return what is to be called with the bytes that are done; ``progress`` is as :func:`open_index` says."""
    _LOG.info("building the index of %s (%.2f GB)", path, size / 1e9)
    if callable(progress):
        tell = progress
        yield lambda done: tell(done, size)
        return
    _, name = split_path(path)
    # A name may hold what a terminal obeys.
    title = f"building the index of {name if name.isprintable() else ascii(name)}"
    with ProgressBar(title, size, "bytes", show=progress, after=_SHOWN_AFTER_SECONDS) as bar:
        yield bar.reach
