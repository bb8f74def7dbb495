"""Finds the files of a dataset, and what describes them."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.discovery.splits import files_of_split, match_split, several_datasets, single_dataset
from penstock.errors import ManifestError, SchemaError
from penstock.manifest import SUFFIX, Manifest, Shard
from penstock.records.read_options import OnBadRecord
from penstock.schema import Schema
from penstock.storage import (
    FileStore,
    StrPath,
    find_files,
    is_folder,
    is_pattern,
    locate,
    path_text,
    read_whole,
    split_path,
)
from penstock.storage.shard_names import dataset_of, shard_number


@dataclass(frozen=True)
class Resolved:
    """The files of a dataset, in order."""

    files: tuple[str, ...]
    counts: tuple[int | None, ...]
    """The records of each, where a manifest tells."""
    manifests: Mapping[str, Manifest]
    """What describes them, by its path."""
    schemas: tuple[str, ...]
    """Files with a schema and no more that do."""

    @property
    def known_counts(self) -> tuple[int, ...] | None:
        """The records of each file, where all are known."""
        known = tuple(count for count in self.counts if count is not None)
        return known if len(known) == len(self.files) else None

    @property
    def is_described(self) -> bool:
        """Whether something says what the records hold, so that their schema is not inferred."""
        return bool(self.manifests or self.schemas)

    def describe(self, on_error: OnBadRecord = "raise") -> Schema:
        """Return the schema: of what describes the files, which must agree, else what the records show.

        Damage that a pass is to go over does not stand in the way of a schema either.
        """
        if not self.is_described:
            # Imported here: most datasets are described.
            from penstock.discovery.infer import infer_schema

            return infer_schema(self.files, on_error="raise" if on_error == "raise" else "skip").schema
        described = {path: manifest.schema for path, manifest in self.manifests.items()}
        described |= {path: load_schema(path) for path in self.schemas}
        (first, schema), *others = described.items()
        for path, other in others:
            if other != schema:
                raise SchemaError(
                    f"{path} and {first} describe different records ({_difference(other, schema)}): "
                    "open one of the datasets, or say by schema= what to read of both"
                )
        return schema


def _difference(one: Schema, other: Schema) -> str:
    """Say in which feature two schemas differ."""
    for name in (*one, *other):
        if one.get(name) != other.get(name):
            found = " and ".join(repr(schema[name]) if name in schema else "not there" for schema in (one, other))
            return f'"{name}" is {found}'
    return "not the same features are of the sequence"


def resolve(paths: StrPath | Iterable[StrPath], split: str | None = None) -> Resolved:
    """Find what ``paths`` name: files, patterns, URLs, or datasets by their folder, their name or their manifest.

    Args:
        paths: What the user named.
        split: The dataset to take of each folder.
    """
    given: Any = paths
    is_one = isinstance(given, str | bytes | os.PathLike) or hasattr(given, "protocol")
    names: list[StrPath] = [given] if is_one or not isinstance(given, Iterable) else list(given)
    if not names:
        raise ValueError("a dataset has at least one file")
    files: list[str] = []
    manifests: dict[str, Manifest] = {}
    counts: dict[str, int | None] = {}
    for name in names:
        path = path_text(name)
        if split is not None and not is_folder(*locate(path)):
            raise ValueError(f"split={split!r} chooses a dataset of a folder, and {path} is not a folder: leave it out")
        manifest = _manifest_of(path, split)
        if manifest is None:
            files += _find_files(path, split)
        else:
            manifests[manifest] = Manifest.load(manifest)
            told = _check_shards(manifest, manifests[manifest])
            files += told
            counts |= told
    # Of each dataset, one file is asked what lies beside it.
    others = {dataset_of(file): file for file in files if file not in counts}
    beside = dict.fromkeys(found for file in others.values() if (found := find_beside(file)) is not None)
    for found in beside:
        if found.endswith(SUFFIX):
            manifests[found] = Manifest.load(found)
            counts |= _known_shards(found, manifests[found], others=set(files) - counts.keys())
    schemas = tuple(found for found in beside if found not in manifests)
    return Resolved(tuple(files), tuple(counts.get(file) for file in files), manifests, schemas)


def _find_files(path: str, split: str | None) -> list[str]:
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
    # Without a manifest, only the names tell whether this is all of it.
    if shards and sorted(shards.values()) != [(shard, len(shards)) for shard in range(len(shards))]:
        advice = f"copy the whole dataset, or open what is there by a pattern, {name}[-.]*"
        text = f"Shards are missing or there twice, and there is no manifest {wanted}{SUFFIX}: {advice}"
        raise FileNotFoundError(errno.ENOENT, text, name)
    return list(shards) or named[: len(named) == 1]


def _manifest_of(path: str, split: str | None) -> str | None:
    """Return the manifest that a path names: itself, that of a dataset by this name, or one in a folder."""
    if path.endswith(SUFFIX):
        return path
    if path != "-" and not path.endswith(("/", os.sep)) and is_file(path + SUFFIX):
        return path + SUFFIX
    store, name = locate(path)
    try:
        store.stat(name)
        return None
    except IsADirectoryError:
        pass
    except PermissionError:
        raise
    except OSError:
        if "://" not in name:
            return None  # a pattern, or what find_files will miss
    found = store.list(f"{glob.escape(name.rstrip('/'))}/*{SUFFIX}")
    names = {split_path(file)[1].removesuffix(SUFFIX): file for file in found}
    if split is not None:
        chosen = match_split(path, names, split)
        return None if chosen is None else names[chosen]
    if len(found) > 1:
        raise several_datasets(path, names)
    return found[0] if found else None


def _check_shards(path: str, manifest: Manifest) -> dict[str, int | None]:
    """Return the shards of a dataset, which must all be there, and how many records each is known to have."""
    counts: dict[str, int | None] = {}
    for file, shard in _shards(path, manifest).items():
        store, name = locate(file)
        try:
            size = store.stat(name).size
        except FileNotFoundError:
            raise ManifestError(
                f"{file} is missing; the manifest {path} names {len(manifest.shards)} shards: "
                f"copy the whole dataset, or open what is there by a pattern, {path.removesuffix(SUFFIX)}-*"
            ) from None
        if size != shard.bytes and not shard.is_appended:
            raise ManifestError(f"{file}: expected {shard.bytes} bytes, found {size}: copy the dataset again")
        counts[file] = None if shard.is_appended else shard.records
    return counts


def _known_shards(path: str, manifest: Manifest, others: set[str]) -> dict[str, int | None]:
    """Return which of other files a manifest beside them knows as they are, and how many records each has."""
    counts: dict[str, int | None] = {}
    for file, shard in _shards(path, manifest).items():
        if file in others and not shard.is_appended:
            store, name = locate(file)
            if store.stat(name).size == shard.bytes:
                counts[file] = shard.records
    return counts


def _shards(path: str, manifest: Manifest) -> dict[str, Shard]:
    folder, _ = split_path(locate(path)[1])
    return {folder + shard.name: shard for shard in manifest.shards}


_MAX_BYTES = 64 << 20


def find_beside(file: str) -> str | None:
    """Return the file that describes a data file, where there is one in the same folder."""
    if file == "-":
        return None
    folder, stem = split_path(dataset_of(file))
    for candidate in (f"{stem}{SUFFIX}", f"{stem}.schema.json", "features.json", "schema.pbtxt"):
        if is_file(folder + candidate):
            return folder + candidate
    return None


def is_file(path: str) -> bool:
    """Whether a file stands there that can be looked at."""
    try:
        store, name = locate(path)
        store.stat(name)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return False  # stores that hide what is not there deny permission
    return True


def load_schema(path: str) -> Schema:
    """Read the schema out of any file that holds one, told by its name."""
    _, name = split_path(path)
    if name.endswith(SUFFIX):
        return Manifest.load(path).schema
    if not name.endswith(".pbtxt") and name != "features.json":
        return Schema.load(path)
    text = read_whole(path, _MAX_BYTES)
    if len(text) > _MAX_BYTES:
        raise SchemaError(f"{path}: no schema: larger than {_MAX_BYTES} bytes")
    try:
        return Schema.from_pbtxt(text.decode()) if name.endswith(".pbtxt") else Schema.from_tfds(text.decode())
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: this is no text") from None
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None
