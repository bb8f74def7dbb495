"""Where a data set goes: the names of its files, what stands there already, and the commit."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from penstock.compression import check
from penstock.dataset_writer.old_files import OldFiles, old_files
from penstock.dataset_writer.shard import ShardWriter
from penstock.files import StrPath, locate
from penstock.manifest import SUFFIX, Manifest
from penstock.schema import Schema

_EXTENSIONS = {"": "", "GZIP": ".gz", "ZLIB": ".zlib", "SNAPPY": ".snappy"}
_ENDING = re.compile(r"-\d{5,}-of-\d{5,}\.tfrecord(\.(gz|zlib|snappy))?")


class Target:
    """The files of one data set that is being written.

    Shards stand under temporary names until :meth:`commit`; so a data set that is there already, and is to be replaced,
    stays whole until the new one is. Where a store can rename, it is whole again after a failure of that, too.
    """

    def __init__(
        self, path: StrPath, *, shards: int, compression: str | None, level: int, replace: bool, sync: bool
    ) -> None:
        self._store, self._base = locate(path)
        kind = check(compression or "")
        _check_base(self._base)
        if not isinstance(shards, int) or shards < 1:
            raise ValueError(f"a data set has at least one shard, not {shards!r}")
        if not 0 <= level <= 9:
            raise ValueError(f"level must be from 0 to 9, not {level}")
        self._replace = replace
        self._sync = sync
        self._old = self._existing()
        if self._old and not replace:
            raise FileExistsError(17, "The data set, or a part of one, exists; replace=True replaces it", self._old[0])
        if "://" not in self._base:
            os.makedirs(os.path.dirname(self._base) or ".", exist_ok=True)
        names = [f"{self._base}-{i:05d}-of-{shards:05d}.tfrecord{_EXTENSIONS[kind]}" for i in range(shards)]
        self.shards: list[ShardWriter] = []
        try:
            for name in names:
                self.shards.append(ShardWriter(self._store, name, kind, level))
        except BaseException:
            self.abort()
            raise

    def commit(self, schema: Schema) -> Manifest:
        """Give all shards their names, and write the manifest."""
        shards = tuple(shard.finish(sync=self._sync) for shard in self.shards)
        manifest = Manifest(schema, shards)
        old = old_files(self._store, self._old)
        try:
            old.step_aside()  # the manifest first: from here on, a reader knows that the data set is not whole
            for shard in self.shards:
                shard.commit(sync=self._sync)
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
        """Let the old data set stand again, or keep what there is of the new one."""
        if old.are_gone:
            kept = [shard.path for shard in self.shards if shard.committed]
            self.shards = [shard for shard in self.shards if not shard.committed]
            found = (
                f"finished shards of the new one: {', '.join(kept)}" if kept else "no shard of the new one is finished"
            )
            error.add_note(f"the data set that was to be replaced is gone; {found}")
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

    def _existing(self) -> list[str]:
        """Answer the manifest and the shards of this name that are there."""
        found = [path for path in self._store.list(f"{self._base}-*") if self._is_shard(path)]
        try:
            self._store.stat(self._manifest_path)
        except FileNotFoundError:
            return found
        return [self._manifest_path, *found]

    def _is_shard(self, path: str) -> bool:
        # A store may spell the way to a file in its own manner; the name is the same.
        name = os.path.basename(path)
        base = os.path.basename(self._base)
        return name.startswith(base) and _ENDING.fullmatch(name[len(base) :]) is not None


def _check_base(base: str) -> None:
    name = re.split(r"[/\\]", base)[-1]
    if not name or base == "-":
        raise ValueError(f"a data set has a name, such as data/train; found {base!r}")
    if any(mark in base for mark in "*?["):
        raise ValueError(f"the name of a data set has no *, ? or [, which stand for many names; found {base!r}")
    if name.endswith((".tfrecord", ".tfrecords", ".tfrec", ".gz")):
        plain = name.split(".")[0]
        raise ValueError(f"the path names a data set, not a file: write {plain!r} for {plain}-00000-of-00001.tfrecord")
