"""The file next to data files that describes their records: a manifest, or a schema file of Penstock, TFDS or TFX."""

from __future__ import annotations

import glob

from penstock.errors import SchemaError
from penstock.manifest import SUFFIX, Manifest
from penstock.schema import Schema
from penstock.storage import is_remote, locate, read_whole, split_path
from penstock.storage.shard_names import dataset_of

_MAX_SCHEMA_BYTES = 64 << 20
LABELS = ".labels.txt"
"""The end of the names of files in which TFDS has the names of classes."""


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


def with_class_names(schema: Schema, folder: str) -> Schema:
    """Return a schema of TFDS with the class names that its folder has, in a file for each feature."""
    store, name = locate(folder or ".")
    try:
        above = name if folder else ""
        files = store.list(f"{above if is_remote(name) else glob.escape(above)}*{LABELS}")
    except (OSError, NotImplementedError):
        return schema  # a web server without listings
    found = {split_path(file)[1].removesuffix(LABELS): file for file in files}
    names = {
        feature: label_names(found[key])
        for feature in schema
        if (key := "-".join(part.replace("/", ".") for part in schema._paths.get(feature, (feature,)))) in found
    }
    return schema._with_names({feature: known for feature, known in names.items() if len(set(known)) == len(known)})


def label_names(path: str) -> list[str]:
    """Read the names of classes, one in each line."""
    data = read_whole(path, _MAX_SCHEMA_BYTES)
    if len(data) > _MAX_SCHEMA_BYTES:
        raise SchemaError(f"{path}: not the names of classes: larger than {_MAX_SCHEMA_BYTES} bytes")
    return [line.strip() for line in data.decode("utf-8", "replace").split("\n") if line.strip()]


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
        return with_class_names(Schema.from_tfds(text.decode()), split_path(path)[0])
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not text in UTF-8") from None
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None
