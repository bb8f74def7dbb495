"""Finds the files of a data set, and what describes them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.beside import find_beside, is_file, load_schema
from penstock.dataset.arguments import names_in
from penstock.dataset.source.shards import Reading, Shards
from penstock.dataset.source.source import OnError, Source
from penstock.errors import ManifestError
from penstock.files import StrPath, find_files, locate
from penstock.infer import infer_schema
from penstock.manifest import SUFFIX, Manifest
from penstock.schema import Schema, check_schema


def open_source(
    paths: StrPath | Iterable[StrPath],
    schema: Schema | None,
    columns: Iterable[str] | None,
    on_error: OnError,
    reading: Reading,
) -> Source:
    """Open the rows of what ``paths`` name; files are read when rows are."""
    found = find_data(paths)
    shards = Shards(found.files, reading, found.counts)
    whole = found.describe(on_error) if schema is None else check_schema(schema)
    source = Source(shards, whole, None, on_error)
    return source if columns is None else source.with_columns(names_in(columns))


@dataclass(frozen=True)
class Found:
    """The files of a data set, in order."""

    files: tuple[str, ...]
    counts: tuple[int, ...] | None
    """The records of each, where a manifest tells."""
    schema: Schema | None
    """What a manifest says that they hold."""

    def describe(self, on_error: OnError = "raise") -> Schema:
        """Answer the schema: the manifest's, else one that lies beside all files, else what the records show.

        Damage that a pass is to go over does not stand in the way of a schema either.
        """
        if self.schema is not None:
            return self.schema
        beside = {find_beside(file) for file in self.files}
        if len(beside) == 1 and (path := beside.pop()) is not None:
            return load_schema(path)
        return infer_schema(self.files, on_error="raise" if on_error == "raise" else "skip").schema


def find_data(paths: StrPath | Iterable[StrPath]) -> Found:
    """Find what ``paths`` name: files, patterns, URLs, or data sets by their folder, their name or their manifest."""
    names = [paths] if isinstance(paths, str | os.PathLike) or hasattr(paths, "protocol") else list(paths)
    parts = [_find(os.fspath(name) if isinstance(name, os.PathLike) else str(name)) for name in names]
    if not parts:
        raise ValueError("a data set has at least one file")
    files = tuple(file for part in parts for file in part.files)
    counts = tuple(count for part in parts for count in part.counts or ())
    schemas = [part.schema for part in parts]
    same = schemas[0] if all(schema == schemas[0] for schema in schemas) else None
    return Found(files, counts if len(counts) == len(files) else None, same)


def _find(path: str) -> Found:
    manifest = _manifest_of(path)
    if manifest is not None:
        return _from_manifest(manifest)
    files = tuple(find_files([path]))
    return _with_manifest(files) or Found(files, None, None)


def _manifest_of(path: str) -> str | None:
    """Answer the manifest that a path names: itself, that of a data set by this name, or the only one in a folder."""
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
    except OSError:
        if "://" not in name:
            return None  # a pattern, or what find_files will miss
    folder = name.rstrip("/")
    found = [file for file in store.list(name) if file.endswith(SUFFIX) and os.path.dirname(file) == folder]
    if len(found) > 1:
        names = ", ".join(os.path.basename(file).removesuffix(SUFFIX) for file in found)
        raise ManifestError(f"{path} holds several data sets: name one of them ({names}), as in {found[0]}")
    return found[0] if found else None


def _from_manifest(path: str) -> Found:
    manifest = Manifest.load(path)
    store, name = locate(path)
    folder = os.path.dirname(name)
    files = tuple(os.path.join(folder, shard.name) for shard in manifest.shards)
    for file, shard in zip(files, manifest.shards, strict=True):
        try:
            size = store.stat(file).size
        except FileNotFoundError:
            raise ManifestError(
                f"{file} is missing; the manifest {path} names {len(files)} shards: copy the whole data set"
            ) from None
        if size != shard.bytes and not shard.is_appended:
            raise ManifestError(f"{file}: expected {shard.bytes} bytes, found {size}: copy the data set again")
    is_known = not any(shard.is_appended for shard in manifest.shards)
    return Found(files, tuple(shard.records for shard in manifest.shards) if is_known else None, manifest.schema)


def _with_manifest(files: tuple[str, ...]) -> Found | None:
    """Answer what a manifest beside the files says of them, where it knows them all."""
    beside = {find_beside(file) for file in files}
    path = beside.pop() if len(beside) == 1 else None
    if path is None or not path.endswith(SUFFIX):
        return None
    manifest = Manifest.load(path)
    known = {shard.name: shard for shard in manifest.shards}
    counts = []
    for file in files:
        shard = known.get(os.path.basename(file))
        store, name = locate(file)
        if shard is None or shard.is_appended or store.stat(name).size != shard.bytes:
            return Found(files, None, manifest.schema)
        counts.append(shard.records)
    return Found(files, tuple(counts), manifest.schema)
