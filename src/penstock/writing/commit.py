"""Parts that any number of processes write, and the commit that makes one dataset of them.

A part is written under a hidden name that has its key and a token: ``.train.part-<key>-<8 hex digits>-00000.tfrecord``.
So attempts to write the same part do not disturb each other. The commit gives the files of one attempt for each key the
names of shards, and writes the manifest.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace as changed
from hashlib import sha256
from urllib.parse import quote

from penstock.errors import ManifestError, SchemaError
from penstock.manifest import SUFFIX, Manifest, Shard
from penstock.schema import Schema
from penstock.storage import FileStore, StrPath, is_remote, locate, split_path
from penstock.storage.shard_names import ShardName, written_suffix
from penstock.writing.destination import (
    Destination,
    add_files,
    check_base,
    check_listed,
    check_replace,
    entries_of,
    existing,
    replace_files,
)
from penstock.writing.hidden_files import hidden_stem, remove_abandoned
from penstock.writing.shard_writer import ShardWriter

_LONGEST_KEY = 80


class PartDestination(Destination):
    """The files of one attempt to write a part."""

    def __init__(self, path: StrPath, part: str | int, *, compression: str | None, level: int, sync: bool) -> None:
        self._name = f".part-{part_key(part)}-{os.urandom(4).hex()}"
        super().__init__(path, compression=compression, level=level, replace=False, sync=sync)

    def _find_old(self, replace: bool) -> list[str]:
        return []

    def _clean(self) -> None:
        pass  # others write at the same time

    def open(self, number: int, count: int | None, piece: int = 1 << 20) -> ShardWriter:
        """Start a file of the part."""
        return super().open(number, count or 1, piece)  # its name does not depend on the count

    def _shard_path(self, number: int, count: int) -> str:
        return f"{hidden_stem(self.base)}{self._name}-{number:05d}{written_suffix(self.kind)}"

    def commit(self, shards: Sequence[ShardWriter], schema: Schema) -> Manifest:
        """Give finished files the names of an attempt; return what :func:`commit` has to know."""
        paths = [self._shard_path(number, len(shards)) for number in range(len(shards))]
        for shard, path in zip(shards, paths, strict=True):
            shard.publish(path, sync=self._sync)
        self._release()
        return Manifest(schema, entries_of(shards, paths))


def part_key(part: str | int) -> str:
    """Return a key in characters that file names may have; different keys stay different."""
    if not isinstance(part, str | int) or isinstance(part, bool) or part == "":
        raise ValueError(f"part is a name or a number, such as the number of a task; found {part!r}")
    key = quote(str(part), safe="").replace("%", "=")
    return key if len(key) <= _LONGEST_KEY else f"{key[:60]}={sha256(key.encode()).hexdigest()[:16]}"


def commit(
    path: StrPath, parts: Iterable[Manifest], *, replace: bool = False, append: bool = False, sync: bool = False
) -> Manifest:
    """Make a dataset of parts, each written by a ``write(path, ..., part=key)``, anywhere.

    >>> schema = ps.Schema({"x": int})
    >>> parts = [ps.write("squares", {"x": [i, i * i]}, schema=schema, part=i) for i in range(3)]
    >>> ps.commit("squares", parts)
    <Manifest of 6 records in 3 shards, 180 bytes: x>

    Rows come in the order of the parts. Of several attempts with one key the first one counts. The others are removed,
    and so are attempts of which nobody reported. A commit that was interrupted can be repeated.

    Args:
        path: The name of the dataset, as for :func:`write`.
        parts: What the calls of :func:`write` returned, in the order of the dataset.
        replace: Replace a dataset of the same name; without, it is an error if there is one.
        append: Add the parts to the dataset of this name, if there is one, as :func:`append` does.
        sync: Wait until the files are on the disk.

    Returns:
        The manifest of the dataset.

    Raises:
        ManifestError: There are no parts, or a file is missing or does not have the size that its writer recorded.
        SchemaError: The schemas of the parts differ.
        FileExistsError: The dataset exists.
    """
    if replace and append:
        raise ValueError("replace and append exclude each other")
    store, base = locate(path)
    check_base(base)
    chosen = _choose(base, list(parts))
    folder = split_path(base)[0]
    committed = _load(store, base)
    before = committed if append else None
    if before is not None and before.schema != chosen[0].schema:
        raise SchemaError(
            f"the parts and {base} have different schemas: pass the schema of the dataset to each write()"
        )
    names = [shard.name for part in chosen for shard in part.shards]
    kept = () if before is None else before.shards
    count = len(kept) + len(names)
    finals = [str(ShardName(base, n, count, _suffix(base, name))) for n, name in enumerate(names, len(kept))]
    entries = tuple(
        changed(shard, name=split_path(final)[1])
        for shard, final in zip((shard for part in chosen for shard in part.shards), finals, strict=True)
    )
    manifest = Manifest(chosen[0].schema, (*kept, *entries))
    files = [_PartFile(store, folder + name) for name in names]
    new = list(zip(files, finals, strict=True))
    if before is not None:
        if not _was_appended(before, entries, files, finals):
            add_files(base, before, new, changed(before, shards=manifest.shards), sync)
        manifest = Manifest.load(base + SUFFIX)
    elif committed != manifest:
        for file, final, entry in zip(files, finals, entries, strict=True):
            file.find(final, entry.bytes)
        # Without a manifest, these names were given by a commit that was interrupted.
        own = {shard.name for shard in manifest.shards} if committed is None else set()
        old = [path for path in existing(store, base) if split_path(path)[1] not in own]
        check_replace(old, replace)
        check_listed(base, old)
        replace_files(store, base, old, new, manifest, sync)
    with suppress(OSError):  # the dataset is complete; what is left is hidden
        abort(path)
    return manifest


def abort(path: StrPath, parts: Iterable[Manifest] | None = None) -> None:
    """Remove parts that were written and not committed.

    >>> part = ps.write("cubes", {"x": [1, 8, 27]}, part="small")
    >>> ps.abort("cubes", [part])

    Args:
        path: The name of the dataset, as for :func:`write`.
        parts: What the calls of :func:`write` returned; None: all parts of this name.
    """
    store, base = locate(path)
    check_base(base)
    folder = split_path(base)[0]
    if parts is None:
        files = list(_part_files(store, base))
    else:
        files = [folder + shard.name for part in parts for shard in _check(part).shards if _key(base, shard.name)]
    for file in files:
        with suppress(FileNotFoundError):
            store.remove(file)
    if store.capabilities.native_paths and os.path.isdir(folder or "."):
        remove_abandoned(base)


class _PartFile:
    """A file of a part that becomes a shard."""

    def __init__(self, store: FileStore, path: str) -> None:
        self._store = store
        self._part_path = self.path = path
        self.published = False

    def find(self, final: str, size: int) -> None:
        """Check the size; an earlier commit, which was interrupted, may have given the file its name."""
        for path in (self.path, final):
            try:
                found = self._store.stat(path).size
            except FileNotFoundError:
                continue
            if found in (size, None):
                self.path, self.published = path, path == final
                return
            if path == self.path:
                advice = "write the part again"
                raise ManifestError(f"{path} has {found} bytes, its writer recorded {size}: {advice}")
        raise ManifestError(f"{self.path} is missing: write the part again, or leave it out")

    def publish(self, path: str, *, sync: bool) -> None:
        if not self.published:
            self._store.rename(self.path, path, sync=sync)
            self.path, self.published = path, True

    def abort(self) -> None:
        if self.published:
            with suppress(OSError):  # the error that led here is raised to the user
                self._store.rename(self.path, self._part_path)
                self.path, self.published = self._part_path, False


def _check(part: Manifest) -> Manifest:
    if not isinstance(part, Manifest):
        raise TypeError(f"parts are what write(..., part=...) returned, found {type(part).__name__}")
    return part


def _choose(base: str, parts: list[Manifest]) -> list[Manifest]:
    """Return one attempt for each key, in order."""
    if not parts:
        raise ManifestError("a dataset has at least one part; there are none")
    chosen: dict[str, Manifest] = {}
    for part in map(_check, parts):
        keys = {_key(base, shard.name) for shard in part.shards}
        key = keys.pop() if len(keys) == 1 else None
        if key is None:
            found = ", ".join(shard.name for shard in part.shards[:3]) or "no file"
            raise ManifestError(f"expected what write({split_path(base)[1]!r}, ..., part=...) returned, found {found}")
        if part.schema != parts[0].schema:
            one, other = parts[0].shards[0].name, part.shards[0].name
            raise SchemaError(f"{one} and {other} have different schemas: pass the same schema=... to each write()")
        chosen.setdefault(key, part)
    return list(chosen.values())


def _was_appended(before: Manifest, added: Sequence[Shard], files: Sequence[_PartFile], finals: Sequence[str]) -> bool:
    """Find the files to append; return True where they are gone because an earlier commit has appended them."""
    try:
        for file, final, entry in zip(files, finals, added, strict=True):
            file.find(final, entry.bytes)
    except ManifestError:
        last = before.shards[-len(added) :]
        if [changed(shard, name="") for shard in last] != [changed(shard, name="") for shard in added]:
            raise
        return True
    return False


def _part_name(base: str) -> re.Pattern[str]:
    stem = re.escape(split_path(hidden_stem(base))[1])
    return re.compile(rf"{stem}\.part-(?P<key>.+)-[0-9a-f]{{8}}-\d{{5,9}}(?P<suffix>\..+)")


def _key(base: str, name: str) -> str | None:
    found = _part_name(base).fullmatch(name)
    return found and found["key"]


def _suffix(base: str, name: str) -> str:
    found = _part_name(base).fullmatch(name)
    assert found is not None
    return found["suffix"]


def _part_files(store: FileStore, base: str) -> Iterator[str]:
    stem = hidden_stem(base)
    folder = split_path(base)[0]
    for path in store.list(f"{stem if is_remote(stem) else glob.escape(stem)}.part-*"):
        name = split_path(path)[1]
        if _key(base, name):
            yield folder + name


def _load(store: FileStore, base: str) -> Manifest | None:
    try:
        store.stat(base + SUFFIX)
    except FileNotFoundError:
        return None
    return Manifest.load(base + SUFFIX)
