"""Resolve paths to files, with the manifests and schema files that describe them.

Each manifest is loaded once. :func:`resolve` finds one dataset and raises where a part of it is missing;
:func:`resolve_files` finds whatever files there are and lists what is wrong with the others.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from penstock.discovery.sidecars import find_sidecar, is_file, load_schema
from penstock.discovery.split_slices import Split
from penstock.discovery.splits import files_of_split, match_split, several_datasets, single_dataset
from penstock.discovery.tfds_directory import ShardRows, TfdsDirectory, find_tfds
from penstock.errors import ManifestError, PenstockError, SchemaError
from penstock.manifest import SUFFIX, Manifest, Shard
from penstock.records.read_options import OnBadRecord
from penstock.schema import Schema
from penstock.storage import (
    FileStore,
    StrPath,
    find_files,
    is_folder,
    is_pattern,
    is_remote,
    locate,
    path_text,
    split_path,
)
from penstock.storage.shard_names import dataset_of, shard_number


@dataclass(frozen=True)
class ResolvedFile:
    """One file that a path stands for, or the reason why there is none."""

    path: str
    manifest: str | None = None
    """The manifest that lists the file."""
    shard: Shard | None = None
    """The entry in that manifest."""
    schema: str | None = None
    """The manifest or schema file that describes the records."""
    size: int | None = None
    """Bytes, if the file was checked."""
    error: Exception | None = None
    """Why the file cannot be read, or why the path stands for no file."""
    tfds: ShardRows | None = None
    """What the metadata of TFDS says about the file."""

    @property
    def records(self) -> int | None:
        """The number of records, if a manifest has it and the file has not changed since, or the metadata of TFDS."""
        if self.tfds is not None and self.tfds.count is not None:
            return self.tfds.count
        known = self.shard is not None and not self.shard.is_appended and self.size == self.shard.bytes
        return self.shard.records if known and self.shard else None


@dataclass(frozen=True)
class Resolved:
    """The files that paths stand for, in order, and what describes them."""

    files: tuple[ResolvedFile, ...]
    manifests: Mapping[str, Manifest]
    """Every manifest that was loaded, by path."""
    unreadable: Mapping[str, Exception]
    """Manifests that could not be loaded, by path."""
    datasets: tuple[str, ...]
    """The manifests, loaded or not, that the paths stand for or that are below folders; not those found next to a
    single file."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the files, without those that cannot be read."""
        return tuple(file.path for file in self.files if file.error is None)

    @property
    def counts(self) -> tuple[int, ...] | None:
        """The records of each file, if manifests have all of them."""
        counts = tuple(file.records for file in self.files)
        return None if None in counts else tuple(count for count in counts if count is not None)

    @property
    def schemas(self) -> tuple[str, ...]:
        """The manifests and schema files that describe the files."""
        described = (file.schema for file in self.files if file.schema is not None)
        return tuple(dict.fromkeys((*self.manifests, *described)))

    def complete(self) -> Resolved:
        """Return this if every file is there, with the size that its manifest has.

        Raises:
            ManifestError: A shard is missing or has another size.
            OSError: A path stands for no file.
        """
        for file in self.files:
            if file.shard is not None and isinstance(file.error, FileNotFoundError):
                manifest = file.manifest or ""
                shards = len(self.manifests[manifest].shards)
                raise ManifestError(
                    f"{file.path} is missing; the manifest {manifest} lists {shards} shards: copy the whole dataset, "
                    f"or open the shards that exist by a pattern, {manifest.removesuffix(SUFFIX)}-*"
                )
            if file.error is not None:
                raise file.error
            if file.shard is not None and file.size not in (None, file.shard.bytes) and not file.shard.is_appended:
                raise ManifestError(
                    f"{file.path}: expected {file.shard.bytes} bytes, found {file.size}: copy the dataset again"
                )
        return self

    def load_schema(self, path: str) -> Schema:
        """Return the schema in one of :attr:`schemas`; manifests are not read again."""
        if path in self.unreadable:
            raise self.unreadable[path]
        return self.manifests[path].schema if path in self.manifests else load_schema(path)

    def describe(self, on_error: OnBadRecord = "raise") -> Schema:
        """Return the schema of all files: of the sidecars, which must agree, or inferred from the records.

        Args:
            on_error: What the dataset does with bad records. Unless it raises, inference skips them too.
        """
        if not self.schemas:
            # Imported here: most datasets have a manifest or a schema file.
            from penstock.discovery.infer import infer_schema

            return infer_schema(self.paths, on_error="raise" if on_error == "raise" else "skip").schema
        first, *others = self.schemas
        schema = self.load_schema(first)
        for path in others:
            if (other := self.load_schema(path)) != schema:
                raise SchemaError(
                    f"{path} and {first} describe different records ({_difference(other, schema)}): "
                    "open one of the datasets, or pass schema= with the features to read of both"
                )
        return schema


def _difference(one: Schema, other: Schema) -> str:
    """Name a feature in which two schemas differ."""
    for name in (*one, *other):
        if one.get(name) != other.get(name):
            found = " and ".join(repr(schema[name]) if name in schema else "missing" for schema in (one, other))
            return f'"{name}" is {found}'
    return "they do not agree which features belong to the sequence"


def resolve(paths: StrPath | Iterable[StrPath], split: str | Split | None = None) -> Resolved:
    """Find the files of one dataset.

    Args:
        paths: Files, patterns, URLs, or datasets by their folder, their name or their manifest.
        split: The dataset to take from each folder; of a folder that TFDS wrote, also slices of its splits.

    Raises:
        ManifestError: A folder holds several datasets, or a shard is missing or has another size.
        OSError: A path stands for no file.
    """
    names = path_texts(paths)
    if not names:
        raise ValueError("a dataset has at least one file")
    manifests: dict[str, Manifest] = {}
    files: list[ResolvedFile] = []
    for path in names:
        if split is not None and not is_folder(*locate(path)):
            raise ValueError(f"split={split!r} chooses a dataset of a folder, and {path} is not a folder: leave it out")
        name = split if isinstance(split, str) else None
        manifest = manifest_of(path, folders=True, split=name)
        if manifest is None and (folder := find_tfds(path)) is not None:
            tfds = TfdsDirectory.load(folder)
            files += [ResolvedFile(found.file, schema=tfds.features, tfds=found) for found in tfds.rows(split)]
        elif manifest is None:
            if split is not name:
                raise ValueError(f"{split} is for a folder that TFDS wrote; {path} is none: name a dataset")
            files += map(ResolvedFile, _dataset_files(path, name))
        else:
            manifests[manifest] = Manifest.load(manifest)
            files += _listed_files(manifest, manifests[manifest])
    datasets, unreadable = tuple(manifests), dict[str, Exception]()
    described = list(_with_sidecars(files, manifests, unreadable))
    for error in unreadable.values():
        raise error
    return Resolved(tuple(map(_current, described)), manifests, unreadable, datasets).complete()


def resolve_files(paths: StrPath | Iterable[StrPath], *, describe: bool = False) -> Resolved:
    """Find all files that paths stand for; errors of paths are returned, not raised.

    A path that stands for no file becomes one :class:`ResolvedFile` with an error, as does every shard that is listed
    in a manifest and missing. A folder stands for all TFRecord files below it.

    Args:
        paths: Files, patterns, folders, URLs, and datasets by their name or their manifest.
        describe: Also load the manifests below folders, and look for the manifest or schema file of each dataset.
    """
    manifests: dict[str, Manifest] = {}
    unreadable: dict[str, Exception] = {}
    files: list[ResolvedFile] = []
    names = path_texts(paths)
    if names.count("-") > 1:
        raise ValueError("standard input can be read once: name - once")
    for path in names:
        failed: list[OSError] = []
        try:
            named = manifest_of(path, folders=False)
            found = _files_or_shards(path, failed) if named is None else []
        except Exception as error:
            if not is_file_error(path, error):
                raise
            named, found = None, []
            if not failed:  # otherwise those errors are the reason
                files.append(ResolvedFile(path, error=error))
        if named is not None and not _load(named, manifests, unreadable):
            files.append(ResolvedFile(path, manifest=named, error=unreadable[named]))
        below = _manifests_below(path) if describe and named is None else [named] if named is not None else []
        listed = {
            file.path: file
            for manifest in below
            if _load(manifest, manifests, unreadable)
            for file in _listed_files(manifest, manifests[manifest], found)
        }
        files += [listed.pop(file, ResolvedFile(file)) for file in found]
        files += listed.values()
        files += [ResolvedFile(path, error=error) for error in failed]
    datasets = (*manifests, *unreadable)
    if describe:
        files = list(_with_sidecars(files, manifests, unreadable))
    return Resolved(tuple(files), manifests, unreadable, datasets)


def path_texts(paths: StrPath | Iterable[StrPath]) -> list[str]:
    """Return one path, or several, as a list of strings."""
    given: Any = paths
    is_one = isinstance(given, str | bytes | os.PathLike) or hasattr(given, "protocol")
    return list(map(path_text, [given] if is_one or not isinstance(given, Iterable) else given))


def is_file_error(path: str, error: Exception) -> bool:
    """Return whether an error is about a file, and not a mistake in the program."""
    # The drivers of remote stores have exceptions of their own without a common base class.
    return isinstance(error, OSError | PenstockError) or is_remote(path)


def _load(path: str, manifests: dict[str, Manifest], unreadable: dict[str, Exception]) -> bool:
    """Load a manifest once; return whether that worked."""
    if path not in manifests and path not in unreadable:
        try:
            manifests[path] = Manifest.load(path)
        except Exception as error:
            if not is_file_error(path, error):
                raise
            unreadable[path] = error
    return path in manifests


def _listed_files(path: str, manifest: Manifest, found: Iterable[str] = ()) -> Iterator[ResolvedFile]:
    """Yield the shards in a manifest; those not in ``found`` are checked, and may be missing."""
    store, name = locate(path)
    folder, _ = split_path(name)
    known = set(found)
    for shard in manifest.shards:
        file = ResolvedFile(folder + shard.name, path, shard, path)
        if file.path not in known:
            try:
                file = replace(file, size=store.stat(file.path).size)
            except Exception as error:
                if not is_file_error(path, error):
                    raise
                file = replace(file, error=error)
        yield file


def _with_sidecars(
    files: list[ResolvedFile], manifests: dict[str, Manifest], unreadable: dict[str, Exception]
) -> Iterator[ResolvedFile]:
    """Add the sidecar file of each file; it is looked up once per dataset."""
    sidecars: dict[str, str | None] = {}
    shards: dict[str, dict[str, Shard]] = {}
    for file in files:
        if file.schema is not None or file.error is not None:
            yield file
            continue
        dataset = dataset_of(file.path)
        if dataset not in sidecars:
            sidecars[dataset] = find_sidecar(file.path)
        sidecar = sidecars[dataset]
        shard = None
        if sidecar is not None and sidecar.endswith(SUFFIX):
            if sidecar not in shards:
                entries = manifests[sidecar].shards if _load(sidecar, manifests, unreadable) else ()
                shards[sidecar] = {shard.name: shard for shard in entries}
            shard = shards[sidecar].get(split_path(file.path)[1])
        yield replace(file, manifest=None if shard is None else sidecar, shard=shard, schema=sidecar)


def _current(file: ResolvedFile) -> ResolvedFile:
    """Drop the manifest entry of a file that no longer agrees with it."""
    if file.shard is None or file.error is not None or file.size is not None:
        return file  # a shard of a manifest that the path stands for must agree
    if not file.shard.is_appended:
        store, name = locate(file.path)
        size = store.stat(name).size
        if size == file.shard.bytes:
            return replace(file, size=size)
    return replace(file, manifest=None, shard=None)


def _files_or_shards(path: str, failed: list[OSError]) -> list[str]:
    """Return the files that a path stands for: itself, what matches, all below a folder, or the shards of that name."""
    try:
        return find_files([path], unreadable=failed.append)
    except FileNotFoundError:
        if not failed and (shards := _shards_by_name(*locate(path))):
            return shards
        raise


def _dataset_files(path: str, split: str | None) -> list[str]:
    store, name = locate(path)
    try:
        files = find_files([path])
    except FileNotFoundError:
        if split is None and (shards := _shards_by_name(store, name)):
            return shards
        raise
    if files == [name] or is_pattern(store, name):
        return files
    return single_dataset(name, files) if split is None else files_of_split(name, files, split)


def _shards_by_name(store: FileStore, name: str) -> list[str]:
    """Return the files of a dataset without a manifest that is opened by its name, ``folder/train``."""
    wanted = split_path(name)[1]
    if not wanted:
        return []
    try:
        files = store.list(f"{glob.escape(name)}*")
    except OSError:
        return []  # not every store can list
    named = [file for file in files if split_path(dataset_of(file))[1] == wanted]
    shards = {file: number for file in named if (number := shard_number(file)) is not None}
    # Without a manifest, only the numbers in the names show whether shards are missing.
    if shards and sorted(shards.values()) != [(shard, len(shards)) for shard in range(len(shards))]:
        advice = f"copy the whole dataset, or open the shards that exist by a pattern, {name}[-.]*"
        text = f"Shards are missing or duplicated, and there is no manifest {wanted}{SUFFIX}: {advice}"
        raise FileNotFoundError(errno.ENOENT, text, name)
    return list(shards) or named[: len(named) == 1]


def manifest_of(path: str, *, folders: bool, split: str | None = None) -> str | None:
    """Return the manifest that a path stands for, if any: itself, or that of the dataset with this name.

    Args:
        path: What the user named.
        folders: Whether a folder stands for the manifest in it.
        split: The dataset to choose, of several in the folder.
    """
    if path.endswith(SUFFIX):
        return path
    store, name = locate(path)
    try:
        store.stat(name)
        return None
    except OSError as error:
        reason = error
    # Also try the name if permission is denied: some stores deny it for files that do not exist.
    if not path.endswith(("/", os.sep)) and is_file(path + SUFFIX):
        return path + SUFFIX
    if isinstance(reason, PermissionError):
        raise reason
    if not folders or (store.capabilities.folders and not isinstance(reason, IsADirectoryError)):
        return None
    found = store.list(f"{glob.escape(name.rstrip('/'))}/*{SUFFIX}")
    names = {split_path(file)[1].removesuffix(SUFFIX): file for file in found}
    if split is not None:
        chosen = match_split(path, names, split)
        return None if chosen is None else names[chosen]
    if len(found) > 1:
        raise several_datasets(path, names)
    return found[0] if found else None


def _manifests_below(path: str) -> list[str]:
    """Return the manifests below a folder; a folder that cannot be listed is reported with its files."""
    store, name = locate(path)
    with suppress(OSError):
        if is_folder(store, name):
            return [entry for entry in store.list(name, lambda error: None) if entry.endswith(SUFFIX)]
    return []
