"""Where a dataset goes: the names of its files, what stands there already, and the commit."""

from __future__ import annotations

import errno
import glob
import os
import re
from contextlib import suppress
from typing import Protocol

from penstock.compression import check, check_level
from penstock.manifest import SUFFIX, Manifest
from penstock.schema import Schema
from penstock.storage import FileStore, StrPath, is_remote, locate, make_folder_of
from penstock.storage.local import allow_open_files
from penstock.storage.shard_names import ShardName, without_extension, written_suffix
from penstock.writing.shard_writer import ShardWriter


class Target:
    """The files of one dataset that is being written.

    Shards stand under temporary names until :meth:`commit`; so a dataset that is there already, and is to be replaced,
    stays whole until the new one is. Where a store can rename, it is whole again after a failure of that, too.

    With ``shard``, one of several processes writes that shard alone, over what an earlier attempt may have left of it;
    the manifest is left to :func:`penstock.writing.commit.commit`.
    """

    def __init__(
        self,
        path: StrPath,
        *,
        shards: int,
        shard: int | None = None,
        compression: str | None,
        level: int,
        replace: bool,
        sync: bool,
    ) -> None:
        self._store, self._base = locate(path)
        kind = check(compression)
        _check_base(self._base)
        if not isinstance(shards, int) or shards < 1:
            raise ValueError(f"a dataset has at least one shard, not {shards!r}")
        check_level(level)
        self._is_whole = shard is None
        self._sync = sync
        numbers = range(shards) if shard is None else [_check_shard(shard, shards, replace)]
        self._old = existing(self._store, self._base, shards_too=self._is_whole)
        if self._old and not replace:
            way_out = "replace=True replaces it" if self._is_whole else "remove it, or choose another name"
            raise FileExistsError(17, f"The dataset, or a part of one, exists; {way_out}", self._old[0])
        make_folder_of(self._base)
        names = [str(ShardName(self._base, number, shards, written_suffix(kind))) for number in numbers]
        self.shards: list[ShardWriter] = []
        if self._store.capabilities.native_paths:
            allow_open_files(len(names))
        try:
            for name in names:
                self.shards.append(ShardWriter(self._store, name, kind, level, len(names)))
        except BaseException as error:
            self.abort()
            if isinstance(error, OSError) and error.errno == errno.EMFILE:
                why = f"{shards} shards are open while they are written: write fewer, or raise the limit (ulimit -n)"
                raise OSError(errno.EMFILE, f"Too many open files; {why}", self._base) from None
            raise

    def commit(self, schema: Schema) -> Manifest:
        """Give all shards their names, and write the manifest, unless there are shards of others."""
        shards = tuple(shard.finish(sync=self._sync) for shard in self.shards)
        manifest = Manifest(schema, shards)
        old = old_files(self._store, self._old)
        try:
            old.step_aside()  # the manifest first: from here on, a reader knows that the dataset is not whole
            for shard in self.shards:
                shard.commit(sync=self._sync)
            if self._is_whole:
                self._save(manifest)
        except BaseException as error:
            self._undo(old, error)
            raise
        self.shards = []  # whole: nothing can take them back
        old.go()
        return manifest

    def abort(self) -> None:
        """Remove what was begun."""
        shards, self.shards = self.shards, []
        for shard in shards:
            shard.abort()

    def _undo(self, old: OldFiles, error: BaseException) -> None:
        """Let the old dataset stand again, or keep what there is of the new one."""
        if old.are_gone:
            kept = [shard.path for shard in self.shards if shard.committed]
            self.shards = [shard for shard in self.shards if not shard.committed]
            found = (
                f"finished shards of the new one: {', '.join(kept)}" if kept else "no shard of the new one is finished"
            )
            error.add_note(f"the dataset that was to be replaced is gone; {found}")
        self.abort()
        old.come_back(error)

    def _save(self, manifest: Manifest) -> None:
        try:
            manifest.save(self._manifest_path, sync=self._sync)
        except BaseException:
            # It may stand there, and only its sync have failed; but its shards are about to be removed.
            with suppress(OSError):
                self._store.remove(self._manifest_path)
            raise

    @property
    def _manifest_path(self) -> str:
        return self._base + SUFFIX


def existing(store: FileStore, base: str, *, shards_too: bool = True) -> list[str]:
    """Return the manifest and the shards of a dataset that are there."""
    # A store may spell the way to a file in its own manner; the name is the same.
    name = os.path.basename(base)
    pattern = f"{base if is_remote(base) else glob.escape(base)}-*"
    found = [
        path
        for path in (store.list(pattern) if shards_too else [])
        if (shard := ShardName.parse(os.path.basename(path))) and shard.dataset == name and shard.is_written
    ]
    try:
        store.stat(base + SUFFIX)
    except FileNotFoundError:
        return found
    return [base + SUFFIX, *found]


def _check_shard(shard: int, shards: int, replace: bool) -> int:
    if not isinstance(shard, int) or not 0 <= shard < shards:
        raise ValueError(f"a shard is one of 0 ... {shards - 1}, not {shard!r}")
    if replace:
        raise ValueError("replace=True is for whole datasets: remove the old one before its first shard is written")
    return shard


def _check_base(base: str) -> None:
    name = re.split(r"[/\\]", base)[-1]
    if not name or base == "-":
        raise ValueError(f"a dataset has a name, such as data/train; found {base!r}")
    if any(mark in (base if is_remote(base) else name) for mark in "*?["):
        raise ValueError(f"the name of a dataset has no *, ? or [, which stand for many names; found {base!r}")
    if without_extension(name) != name:
        plain = name.split(".")[0]
        raise ValueError(f"the path names a dataset, not a file: write {plain!r} for {plain}-00000-of-00001.tfrecord")


class OldFiles(Protocol):
    """Files that stand where a new dataset will."""

    @property
    def are_gone(self) -> bool:
        """Whether some of them are lost."""

    def step_aside(self) -> None:
        """Free the names, the first one first."""

    def come_back(self, error: BaseException) -> None:
        """Stand where they stood, after an error, which is told where that fails."""

    def go(self) -> None:
        """Leave for good: the new dataset is whole."""


def old_files(store: FileStore, paths: list[str]) -> OldFiles:
    """Return what becomes of the files at some paths."""
    return _Renamed(paths) if store.capabilities.rename else _Removed(store, paths)


class _Renamed:
    """Local files wait under hidden names, and come back after a failure."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        self._ending = f".{os.urandom(4).hex()}.replaced"
        self._aside: list[str] = []

    @property
    def are_gone(self) -> bool:
        return False

    def step_aside(self) -> None:
        for path in self._paths:
            os.rename(path, self._hidden(path))
            self._aside.append(path)

    def come_back(self, error: BaseException) -> None:
        for path in reversed(self._aside):
            try:
                os.replace(self._hidden(path), path)
            except OSError as second:
                error.add_note(f"{path}, which was to be replaced, is now {self._hidden(path)}: {second}")

    def go(self) -> None:
        failures: list[OSError] = []
        for path in self._aside:
            try:
                os.unlink(self._hidden(path))
            except OSError as error:
                failures.append(error)
        if failures:
            failures[0].add_note("the new dataset is whole; this file is left of the one that it replaces")
            raise failures[0]

    def _hidden(self, path: str) -> str:
        folder, name = os.path.split(path)
        return os.path.join(folder, f".{name}{self._ending}")


class _Removed:
    """Files of a store that cannot rename are removed, and gone."""

    def __init__(self, store: FileStore, paths: list[str]) -> None:
        self._store = store
        self._paths = paths
        self._removed = 0

    @property
    def are_gone(self) -> bool:
        return self._removed > 0

    def step_aside(self) -> None:
        for path in self._paths:
            self._store.remove(path)
            self._removed += 1

    def come_back(self, error: BaseException) -> None:
        pass

    def go(self) -> None:
        pass
