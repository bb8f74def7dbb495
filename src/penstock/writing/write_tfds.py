"""Write a folder that TFDS reads: shards, features.json, names of classes and dataset_info.json, which commits it."""

from __future__ import annotations

import errno
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from penstock.codec.images import encode_image
from penstock.columns import Batch
from penstock.discovery.sidecars import LABELS, is_file
from penstock.discovery.tfds_directory import FEATURES_FILE, INFO_FILE, TfdsDirectory
from penstock.errors import SchemaError
from penstock.schema import Schema
from penstock.schema.connector import ConnectorFeature, Item
from penstock.schema.dtype import numpy_dtype
from penstock.schema.schema import keep_stored
from penstock.storage import StrPath, locate, path_text, split_path, write_whole
from penstock.writing.write import write

_VERSION = re.compile(r"\d+\.\d+\.\d+", re.ASCII)
_NAME = re.compile(r"[a-zA-Z]\w*", re.ASCII)
_INCOMPLETE = ".incomplete/"
_NAMES_SHOWN = 8


def write_tfds(
    path: StrPath,
    splits: Mapping[str, Any],
    *,
    schema: Schema | None = None,
    shards: int | None = None,
    description: str = "",
    replace: bool = False,
    progress: bool = True,
) -> TfdsDirectory:
    """Write a folder that TFDS reads: ``tfds.builder_from_directory(path)``.

    Values that a dataset did not change are copied as they are stored, and its ``features.json`` with them.

    Args:
        path: The folder of the version, ``data/digits/1.0.0``. Without a version at its end, one is added: ``1.0.0``.
        splits: The data of each split by its name: whatever :func:`penstock.write` takes.
        schema: What the records hold. None takes that of a dataset, else infers it. With ``Schema.from_tfds(text)``,
            rows are nested dicts with the values of TFDS, and images are arrays or the bytes of files.
        shards: The number of files of each split, 1 by default.
        description: What the dataset is.
        replace: Replace a dataset in the folder, once the new one is complete, so that it may be made from the old
            one; without, it is an error if there is one.
        progress: Show a progress bar where standard error is a terminal.

    Returns:
        The metadata of the folder.

    Raises:
        SchemaError: TFDS has no form for a feature, or for the name of a class.
        FileExistsError: The folder holds a dataset, and ``replace`` is False.

    Example:
        >>> written = ps.tfds.write("digits", {"train": {"label": np.arange(10)}, "test": {"label": [1, 2]}})
        >>> written.version, ps.Dataset("digits", split="train[:30%]")[2]["label"]
        ('1.0.0', np.int64(2))
    """
    folder = path_text(path).rstrip("/\\") + "/"
    if not _VERSION.fullmatch(split_path(folder[:-1])[1]):
        folder += "1.0.0/"
    above, version = split_path(folder[:-1])
    name = split_path(above[:-1])[1] or "dataset"
    if not splits or not all(re.fullmatch(r"[\w-]+", split) and split != "all" for split in splits):
        raise ValueError(f"splits are named by letters, digits, _ and -, and at least one is needed: {list(splits)}")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is no name of a dataset: TFDS takes letters, digits and _, such as data/digits/1.0.0"
        )
    if is_file(folder + INFO_FILE) and not replace:
        raise FileExistsError(errno.EEXIST, "The folder holds a dataset: replace=True replaces it", folder)
    old = _files_of(folder) if is_file(folder + INFO_FILE) else []
    described = _schema_of(splits) if schema is None else schema
    new, entries, wanted = [], [], described
    try:
        for split, data in splits.items():
            if described is not None:
                _feature_files(described)  # raises before anything is written
            is_copied = schema is None and described is not None
            manifest = write(
                f"{folder}{_INCOMPLETE}{split}",
                data if described is None or is_copied else _stored_rows(data, described),
                schema=None if is_copied or described is None else keep_stored(described),
                shards=shards,
                replace=True,
                progress=progress,
            )
            wanted = manifest.schema if wanted is None else wanted
            described = wanted
            of = f"of-{len(manifest.shards):05}"
            for number, shard in enumerate(manifest.shards):
                new.append((_INCOMPLETE + shard.name, f"{name}-{split}.tfrecord-{number:05}-{of}"))
            lengths = [str(shard.records) for shard in manifest.shards]
            size = str(sum(shard.bytes for shard in manifest.shards))
            entries.append({"name": split, "numBytes": size, "shardLengths": lengths})
        assert wanted is not None
        info = {"name": name, "version": version, "description": description, "fileFormat": "tfrecord"}
        info_text = json.dumps(info | {"splits": entries}, indent=2) + "\n"
        for file, content in (_feature_files(wanted) | {INFO_FILE: info_text}).items():
            write_whole(folder + _INCOMPLETE + file, content.encode())
            new.append((_INCOMPLETE + file, file))
    except BaseException:
        _clear(folder + _INCOMPLETE)
        raise
    _swap(folder, old, new)
    return TfdsDirectory.load(folder)


def _feature_files(schema: Schema) -> dict[str, str]:
    """Return the content of ``features.json`` and of the files of class names; raise if TFDS would read others."""
    files = {FEATURES_FILE: schema.to_tfds()}
    for name, feature in schema.items():
        # TFDS reads one name in each line, strips it, and skips blank lines, which would renumber all later classes.
        if unfit := [found for found in feature.names if not found or "\n" in found or found != found.strip()]:
            shown = ", ".join(map(repr, unfit[:_NAMES_SHOWN])) + (", ..." if len(unfit) > _NAMES_SHOWN else "")
            raise SchemaError(
                f"{name!r} has names of classes that TFDS would read as others: {shown}; rename these classes, without "
                "line breaks and without blanks around a name, and leave none empty"
            )
        if feature.names:
            key = "-".join(schema._paths.get(name, name.split("/")))
            files[key + LABELS] = "\n".join(feature.names) + "\n"
    return files


def _files_of(folder: str) -> list[str]:
    """Return the files of a dataset, first what commits it."""
    old = TfdsDirectory.load(folder)
    names = [f"{folder}{name}{LABELS}" for name in old.label_names()]
    shards = [file for split in old.splits.values() for file in split.files]
    return [folder + INFO_FILE, folder + FEATURES_FILE, *names, *shards]


def _swap(folder: str, old: list[str], new: list[tuple[str, str]]) -> None:
    """Rename the files of the old dataset away, and the new ones to their names; what commits each, first and last.

    An error undoes the renames, so that the old dataset is whole again.
    """
    store, path = locate(folder)
    aside = [(locate(file)[1], f"{path}{_INCOMPLETE}old-{number}") for number, file in enumerate(old)]
    done: list[tuple[str, str]] = []
    try:
        for source, target in aside:
            with suppress(FileNotFoundError):
                store.rename(source, target)
                done.append((source, target))
        for source, target in new:
            store.rename(path + source, path + target)
            done.append((path + source, path + target))
    except BaseException:
        for source, target in reversed(done):
            store.rename(target, source)
        _clear(folder + _INCOMPLETE)
        raise
    _clear(folder + _INCOMPLETE)


def _clear(folder: str) -> None:
    """Remove the folder of incomplete files, as far as possible."""
    store, path = locate(folder)
    with suppress(OSError):
        for file in store.list(path):
            store.remove(file)
        os.rmdir(path)


def _schema_of(splits: Mapping[str, Any]) -> Schema | None:
    """Return the schema of datasets whose rows are copied as they are stored; None if any data is other."""
    schemas: list[Schema] = []
    for data in splits.values():
        as_stored = getattr(data, "_as_stored", None)
        if as_stored is None or as_stored() is None:
            return None
        schemas.append(data.schema)
    if any(schema != schemas[0] for schema in schemas):
        raise SchemaError("the splits hold different features: pass schema=")
    return schemas[0]


def _stored_rows(data: Any, schema: Schema) -> Any:
    """Return rows with the values that connectors store; data without connectors as it is."""
    connectors = {name: found for name, found in schema.items() if isinstance(found, ConnectorFeature)}
    if not connectors and not schema._paths:
        return data
    if isinstance(data, Mapping):
        data = Batch(data)
    rows = data.rows() if isinstance(data, Batch) else data
    return _encoded(rows, schema, connectors)


def _encoded(rows: Any, schema: Schema, connectors: Mapping[str, ConnectorFeature]) -> Iterator[dict[str, Any]]:
    for row in rows:
        flat = {name: _at(row, schema._paths.get(name, (name,)), name) for name in schema}
        for name, feature in connectors.items():
            for suffix, value in _stored_values(feature, flat.pop(name)).items():
                flat[name + suffix] = value
        yield flat


def _at(value: Any, path: tuple[str, ...], name: str) -> Any:
    """Return the value at a place in nested dicts; lists of dicts, such as steps, are lists of their values there."""
    if name in value:
        return value[name]
    for depth, part in enumerate(path):
        if isinstance(value, list | tuple):
            return [_at(item, path[depth:], "") for item in value]
        value = value[part]
    return value


def _stored_values(feature: ConnectorFeature, value: Any) -> dict[str, Any]:
    if value is None:
        return dict.fromkeys(feature.stored)
    item, depth = feature.item, len(feature.levels)
    if not item.has_own_shape:
        return {"": _each(value, depth, lambda found: _encode(item, found))}
    return {
        "/value": _each(value, depth, lambda found: _encode(item, found)),
        "/shape": _each(value, depth, lambda found: list(np.shape(found))),
    }


def _each(value: Any, depth: int, encode: Any) -> Any:
    return [_each(found, depth - 1, encode) for found in value] if depth else encode(value)


def _encode(item: Item, value: Any) -> Any:
    if item.coding == "image":
        if isinstance(value, bytes):
            return value
        pixels = np.ascontiguousarray(value)
        if pixels.dtype != item.dtype:
            raise SchemaError(f"expected an image of {item.dtype}, found {pixels.dtype}")
        return encode_image(pixels.view(np.uint8) if item.is_depth else pixels, "png")
    array = np.asarray(value, numpy_dtype(item.dtype))
    if item.coding == "list":
        return array.reshape(-1 if None in item.shape[1:] else array.shape).view(
            np.int64 if item.dtype == "uint64" else array.dtype
        )
    data = np.ascontiguousarray(array).tobytes()
    return zlib.compress(data) if item.coding == "zlib" else data
