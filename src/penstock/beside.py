"""Finds what describes data files: the manifest or schema that lies beside them."""

from __future__ import annotations

import re

from penstock.errors import SchemaError
from penstock.files import locate, read_whole, split_path
from penstock.manifest import SUFFIX, Manifest
from penstock.schema import Schema

# Behind the name of a data set: "train-00000-of-00008.tfrecord.gz" is of "train".
_SHARD = re.compile(r"(-\d+-of-\d+)?(\.tfrecords?|\.tfrec|\.record)?(-\d+-of-\d+)?(\.(?:gz|zlib|zz|snappy))?$")

_MAX_BYTES = 64 << 20


def data_set_of(file: str) -> str:
    """Answer what the data set is called that a file is a shard of, with its folder."""
    folder, name = split_path(file)
    return folder + _SHARD.sub("", name)


def shard_number(file: str) -> tuple[int, int] | None:
    """Return which of how many shards a file is by its name: (0, 8) for ``train-00000-of-00008.tfrecord``."""
    found = _SHARD.search(split_path(file)[1])
    number = found and (found[1] or found[3])
    if not number:
        return None
    _, shard, _, shards = number.split("-")
    return int(shard), int(shards)


def find_beside(file: str) -> str | None:
    """Answer the file that describes a data file, where there is one in the same folder."""
    if file == "-":
        return None
    folder, stem = split_path(data_set_of(file))
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
