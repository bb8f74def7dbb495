"""Where a dataset is written: the names of its files, and how they appear all at once."""

from __future__ import annotations

import errno
import glob
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from penstock.compression import Compression, check, check_level
from penstock.compression.detect import EXTENSIONS, by_extension
from penstock.errors import ManifestError
from penstock.manifest import SUFFIX, Manifest, Shard
from penstock.schema import Schema
from penstock.storage import FileStore, StrPath, is_remote, locate, make_folder_of, split_path
from penstock.storage.shard_names import (
    ShardName,
    has_record_extension,
    shard_number,
    without_extension,
    written_suffix,
)
from penstock.writing.hidden_files import OldFiles, TemporaryFiles, old_files, remove_abandoned
from penstock.writing.shard_writer import PIECE_BYTES, ShardWriter


class Destination:
    """The files of one dataset that is being written.

    Shards have temporary names, or are uploads that nobody sees, until :meth:`commit`. A dataset that is to be
    replaced stays complete until the new one is, and is restored after a failure where the store can rename.

    Args:
        path: The name of the dataset.
        compression: Of all shards.
        level: Of the compression.
        replace: Whether to replace a dataset of the same name.
        sync: Whether to wait until files are on the disk.
    """

    def __init__(self, path: StrPath, *, compression: str | None, level: int, replace: bool, sync: bool) -> None:
        self.store, self.base = locate(path)
        self.kind: Compression = check(compression)
        check_base(self.base)
        check_level(level)
        self.level = level
        self._sync = sync
        self._opened: list[ShardWriter] = []
        self._old = self._find_old(replace)
        make_folder_of(self.base)
        self.temporary = TemporaryFiles(self.base)
        if self.is_local:
            self._clean()

    def _find_old(self, replace: bool) -> list[str]:
        """Return the files that will be replaced."""
        old = existing(self.store, self.base)
        check_replace(old, replace)
        check_listed(self.base, old)
        return old

    def _clean(self) -> None:
        """Remove what killed processes left."""
        remove_abandoned(self.base)

    @property
    def is_local(self) -> bool:
        """Whether the dataset is on a disk of this machine."""
        return self.store.capabilities.native_paths

    def open(self, number: int, count: int | None, piece: int = PIECE_BYTES) -> ShardWriter:
        """Start a shard; ``count`` is the number of all, None where it is not known yet."""
        is_temporary = self.is_local or count is None
        path = self.temporary.path(f"{number:05d}") if is_temporary else self._shard_path(number, count or 0)
        try:
            shard = ShardWriter(self.store, path, self.kind, self.level, is_temporary=is_temporary, piece=piece)
        except OSError as error:
            if self.is_local:
                with suppress(OSError):
                    self.store.remove(path)  # created, and then not opened for writing
            if error.errno != errno.EMFILE:
                raise
            advice = f"{count} shards are open while they are written: write fewer, or raise the limit (ulimit -n)"
            raise OSError(errno.EMFILE, f"Too many open files; {advice}", self.base) from None
        self._opened.append(shard)
        return shard

    def finish(self, shard: ShardWriter) -> None:
        """Complete the file of a shard."""
        shard.finish(sync=self._sync)

    def commit(self, shards: Sequence[ShardWriter], schema: Schema) -> Manifest:
        """Give finished shards their names, and write the manifest."""
        paths = [self._shard_path(number, len(shards)) for number in range(len(shards))]
        manifest = Manifest(schema, entries_of(shards, paths))
        self._opened = []  # a failure from here on undoes what was done, or leaves the new dataset complete
        replace_files(self.store, self.base, self._old, list(zip(shards, paths, strict=True)), manifest, self._sync)
        self._release()
        return manifest

    def abort(self) -> None:
        """Remove what was written."""
        opened, self._opened = self._opened, []
        for shard in opened:
            shard.abort()
        with suppress(OSError):  # the error that led here is raised to the user
            self.temporary.close()

    def _release(self) -> None:
        self._opened = []
        try:
            self.temporary.close()
        except OSError as error:
            error.add_note("the new files are complete; this one is left, and can be removed")
            raise

    def _shard_path(self, number: int, count: int) -> str:
        return str(ShardName(self.base, number, count, written_suffix(self.kind)))


class FileDestination(Destination):
    """A dataset of one file, under the name that the user chose, ``merged.tfrecord.gz``, and its manifest.

    Args:
        path: The file; its extension is that of TFRecord files, and of the compression.
    """

    def __init__(self, path: StrPath, *, compression: str | None, **options: Any) -> None:
        name = locate(path)[1]
        by_name = by_extension(name)
        if check(compression) not in ("", by_name):
            raise ValueError(
                f"{name} is not the name of a file with {compression}: add {EXTENSIONS[check(compression)][0]}"
            )
        self._path = name
        super().__init__(without_extension(name), compression=by_name, **options)

    def _find_old(self, replace: bool) -> list[str]:
        old = existing(self.store, self.base)
        listed = _listed(self.base)
        name = split_path(self.base)[1]
        is_sharded = bool(listed) and all(without_extension(file) != name for file in listed or ())
        if is_sharded or any(_is_shard(file, name) and file not in (listed or ()) for file in _names(old)):
            advice = f"The shards of a dataset {name} are here, whose manifest has the name that this file's would have"
            raise FileExistsError(errno.EEXIST, f"{advice}: choose another name, or remove the dataset", self._path)
        if split_path(self._path)[1] not in _names(old) and _exists(self.store, self._path):
            old.append(self._path)
        check_replace(old, replace)
        return old

    def _shard_path(self, number: int, count: int) -> str:
        if count != 1:
            raise ValueError(f"{self._path} is one file: leave out the extension to write several")
        return self._path


class AppendDestination(Destination):
    """New shards of a dataset that is there: numbers go on, and a new manifest takes the place of the old one."""

    def _find_old(self, replace: bool) -> list[str]:
        self._before = Manifest.load(self.base + SUFFIX)
        known = {shard.name for shard in self._before.shards}
        for path in existing(self.store, self.base)[1:]:
            if split_path(path)[1] not in known:
                advice = "It has the name of a shard, but is not in the manifest; remove it, then append"
                raise FileExistsError(errno.EEXIST, advice, path)
        return []

    @property
    def schema(self) -> Schema:
        """What the records of the dataset hold."""
        return self._before.schema

    def open(self, number: int, count: int | None, piece: int = PIECE_BYTES) -> ShardWriter:
        """Start a shard."""
        have = len(self._before.shards)
        return super().open(have + number, None if count is None else have + count, piece)

    def commit(self, shards: Sequence[ShardWriter], schema: Schema) -> Manifest:
        """Give finished shards their names, and replace the manifest."""
        have = len(self._before.shards)
        paths = [self._shard_path(have + number, have + len(shards)) for number in range(len(shards))]
        manifest = replace(self._before, shards=(*self._before.shards, *entries_of(shards, paths)))
        add_files(self.base, self._before, list(zip(shards, paths, strict=True)), manifest, self._sync)
        self._release()
        return manifest


class Publishable(Protocol):
    """A complete file that gets its name when a dataset is committed."""

    published: bool
    path: str

    def publish(self, path: str, *, sync: bool) -> None:
        """Give the file its name."""

    def abort(self) -> None:
        """Undo what was done."""


def add_files(
    base: str, before: Manifest, new: Sequence[tuple[Publishable, str]], manifest: Manifest, sync: bool
) -> None:
    """Publish further files of a dataset, and put the manifest in the place of the one before."""
    path = base + SUFFIX
    try:
        for file, final in new:
            file.publish(final, sync=sync)
        if Manifest.load(path) != before:
            raise ManifestError(f"{path}: another process changed the dataset meanwhile; append again")
        try:
            manifest.save(path, sync=sync)
        except BaseException:
            # Where only its sync has failed, it names shards that are about to be removed.
            with suppress(OSError, ManifestError):
                if Manifest.load(path) != before:
                    before.save(path)
            raise
    except BaseException:
        for file, _ in new:
            file.abort()
        raise


def replace_files(
    store: FileStore,
    base: str,
    old: list[str],
    new: Sequence[tuple[Publishable, str]],
    manifest: Manifest,
    sync: bool,
) -> None:
    """Publish files in the place of old ones, and write the manifest; after a failure the old ones are restored."""
    aside = old_files(store, old)
    try:
        aside.step_aside()  # the manifest first: from here on, a reader knows that the dataset is not complete
        for file, path in new:
            file.publish(path, sync=sync)
        _save(store, base + SUFFIX, manifest, sync)
    except BaseException as error:
        _undo([file for file, _ in new], aside, error)
        raise
    aside.remove()


def _undo(files: Sequence[Publishable], old: OldFiles, error: BaseException) -> None:
    if old.are_gone:
        done = [file.path for file in files if file.published]
        files = [file for file in files if not file.published]
        found = f"finished shards of the new one: {', '.join(done)}" if done else "no shard of the new one is finished"
        error.add_note(f"the dataset that was to be replaced is gone; {found}")
    for file in files:
        file.abort()
    old.come_back(error)


def _save(store: FileStore, path: str, manifest: Manifest, sync: bool) -> None:
    try:
        manifest.save(path, sync=sync)
    except BaseException:
        # It may be there, where only its sync has failed; but its shards are about to be removed.
        with suppress(OSError):
            store.remove(path)
        raise


def existing(store: FileStore, base: str) -> list[str]:
    """Return the manifest, the shards and the other files that the manifest lists, as far as they exist."""
    # A store may spell the path of a file in its own way; the name is the same.
    folder, name = split_path(base)
    pattern = f"{base if is_remote(base) else glob.escape(base)}-*"
    found = [path for path in store.list(pattern) if _is_shard(split_path(path)[1], name)]
    if not _exists(store, base + SUFFIX):
        return found
    others = sorted(set(_listed(base) or ()).difference(_names(found)))
    return [base + SUFFIX, *found, *(folder + file for file in others if _exists(store, folder + file))]


def check_replace(old: list[str], replace: bool) -> None:
    """Raise where files would be replaced, and the user did not say so."""
    if old and not replace:
        raise FileExistsError(errno.EEXIST, "The dataset, or a part of one, exists; replace=True replaces it", old[0])


def check_listed(base: str, old: list[str]) -> None:
    """Raise where a file has the name of a shard, and the manifest that would be replaced does not list it."""
    listed = _listed(base)
    for path, name in zip(old, _names(old), strict=True):
        if listed is not None and _is_shard(name, split_path(base)[1]) and name not in listed:
            advice = "It has the name of a shard, but is not in the manifest; remove it, then replace the dataset"
            raise FileExistsError(errno.EEXIST, advice, path)


def entries_of(shards: Sequence[ShardWriter], paths: Sequence[str]) -> tuple[Shard, ...]:
    """Return what a manifest records about shards under their names."""
    return tuple(shard.entry(split_path(path)[1]) for shard, path in zip(shards, paths, strict=True))


def _exists(store: FileStore, path: str) -> bool:
    try:
        store.stat(path)
    except FileNotFoundError:
        return False
    return True


def _listed(base: str) -> frozenset[str] | None:
    """Return the names of the files that the manifest of a dataset lists; None without one that can be read."""
    try:
        return frozenset(shard.name for shard in Manifest.load(base + SUFFIX).shards)
    except (FileNotFoundError, ManifestError):
        return None


def _names(paths: Sequence[str]) -> list[str]:
    return [split_path(path)[1] for path in paths]


def _is_shard(name: str, dataset: str) -> bool:
    shard = ShardName.parse(name)
    return shard is not None and shard.dataset == dataset and shard.is_written


def is_file_name(path: StrPath) -> bool:
    """Return whether a path is the name of one file of records, not that of a dataset or of a shard."""
    name = locate(path)[1]
    return has_record_extension(name) and shard_number(name) is None


def check_base(base: str) -> None:
    """Refuse a path that cannot be the name of a dataset."""
    name = re.split(r"[/\\]", base)[-1]
    if not name or base == "-":
        raise ValueError(f"a dataset has a name, such as data/train; found {base!r}")
    if any(mark in (base if is_remote(base) else name) for mark in "*?["):
        raise ValueError(f"the name of a dataset has no *, ? or [, which match many names; found {base!r}")
    if without_extension(name) != name:
        plain = name.split(".")[0]
        raise ValueError(f"the path names a dataset, not a shard: write {plain!r} for {plain}-00000-of-00001.tfrecord")
