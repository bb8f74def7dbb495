"""The file next to data files that describes their records: a manifest, or a schema file of Penstock, TFDS or TFX."""

from __future__ import annotations

import glob

from penstock.errors import SchemaError
from penstock.manifest import SUFFIX, Manifest
from penstock.schema import Schema
from penstock.schema.dtype import INTEGERS
from penstock.storage import is_remote, locate, read_whole, split_path
from penstock.storage.shard_names import dataset_of

_MAX_SCHEMA_BYTES = 64 << 20
_LABELS = ".labels.txt"


def find_sidecar(file: str) -> str | None:
    """Return the manifest or schema file that describes a data file, from the same folder."""
    if file == "-":
        return None
    folder, stem = split_path(dataset_of(file))
    for candidate in (f"{stem}{SUFFIX}", f"{stem}.schema.json", "features.json", "schema.pbtxt"):
        if is_file(folder + candidate):
            return folder + candidate
    return None


def is_file(path: str) -> bool:
    """Return whether there is a file that can be opened."""
    try:
        store, name = locate(path)
        store.stat(name)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return False  # some stores deny permission for files that do not exist
    return True


def load_schema(path: str) -> Schema:
    """Load the schema from a manifest, a schema file, a ``schema.pbtxt`` or a ``features.json``, by its name."""
    _, name = split_path(path)
    if name.endswith(SUFFIX):
        return Manifest.load(path).schema
    if not name.endswith(".pbtxt") and name != "features.json":
        return Schema.load(path)
    text = read_whole(path, _MAX_SCHEMA_BYTES)
    if len(text) > _MAX_SCHEMA_BYTES:
        raise SchemaError(f"{path}: not a schema: larger than {_MAX_SCHEMA_BYTES} bytes")
    try:
        if name.endswith(".pbtxt"):
            return Schema.from_pbtxt(text.decode())
        return _with_class_names(Schema.from_tfds(text.decode()), path)
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not text in UTF-8") from None
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None


def _with_class_names(schema: Schema, path: str) -> Schema:
    """Add the names of classes, which TFDS stores in one file for each feature, with ``-`` between levels."""
    store, name = locate(path)
    folder, _ = split_path(name)
    try:
        files = set(store.list(f"{folder if is_remote(path) else glob.escape(folder)}*{_LABELS}"))
    except (OSError, NotImplementedError):
        return schema  # a web server without listings
    for feature in schema:
        file = f"{folder}{feature.replace('/', '-')}{_LABELS}"
        if file not in files or schema[feature].dtype not in INTEGERS:
            continue
        lines = read_whole(file, _MAX_SCHEMA_BYTES).decode("utf-8", "replace").splitlines()
        names = [line.strip() for line in lines if line.strip()]
        if len(set(names)) == len(names):
            schema = schema | {feature: schema[feature].replace(names=names)}
    return schema
