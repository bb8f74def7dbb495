"""Makes one dataset of shards that several processes, on any machines, have written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from penstock.errors import ManifestError, SchemaError
from penstock.manifest import SUFFIX, Manifest, Shard
from penstock.storage import StrPath, locate
from penstock.storage.shard_names import ShardName, missing_shards
from penstock.writing.target import existing


def commit(path: StrPath, parts: Iterable[Manifest], *, sync: bool = False) -> Manifest:
    """Make a dataset of shards that were written apart, each by a ``write(path, ..., shard=i, shards=n)``.

    >>> parts = [ps.write("data/train", rows(i), schema=schema, shard=i, shards=8) for i in range(8)]
    >>> ps.commit("data/train", parts)

    The manifest is written when all shards are there, in the size that their writers told; before, there is no dataset
    .

    Args:
        path: What the dataset is called, as for :func:`write`.
        parts: What the calls of :func:`write` answered, in any order.
        sync: Wait until the manifest is on the disk.

    Returns:
        The manifest of the whole.
    """
    store, base = locate(path)
    parts = list(parts)
    if not parts:
        raise ManifestError("a dataset has at least one shard; there are no parts")
    for part in parts:
        if not isinstance(part, Manifest):
            raise TypeError(f"parts are what write(shard=..., shards=...) answered, found {type(part).__name__}")
        if not part.shards:
            raise ManifestError("a part has at least one shard; there is one without")
        if part.schema != parts[0].schema:
            one, other = parts[0].shards[0].name, part.shards[0].name
            raise SchemaError(f"{one} and {other} have different schemas: pass the same schema=... to each write()")
    shards = {shard.name: shard for part in parts for shard in part.shards}
    manifest = Manifest(parts[0].schema, tuple(shards[name] for name in sorted(shards)))
    name = os.path.basename(base)
    _check_names(manifest.shards, name)
    for shard in manifest.shards:
        size = store.stat(base.removesuffix(name) + shard.name).size
        if size not in (shard.bytes, None):
            raise ManifestError(f"{shard.name} has {size} bytes, its writer told {shard.bytes}: it was written again")
    for file in existing(store, base):
        if os.path.basename(file) not in shards:
            raise FileExistsError(errno.EEXIST, "It is no part of this dataset, and has its name: remove it", file)
    manifest.save(base + SUFFIX, sync=sync)
    return manifest


def _check_names(shards: tuple[Shard, ...], name: str) -> None:
    """Refuse shards of another dataset, and fewer than there should be.

    How many that is, the name of a file says, which anybody may have made: nothing here is as large as it says.
    """
    first = ShardName.parse(shards[0].name)
    count = first.shards if first else len(shards)
    for shard in shards:
        found = ShardName.parse(shard.name)
        expected = first and found and first._replace(dataset=name, number=found.number)
        if not found or not found.is_written or found.number >= count or shard.name != str(expected):
            raise ManifestError(f"{shard.name} does not belong to the {count} shards of {name}")
    for missing in missing_shards(shard.name for shard in shards):
        lacking = first and first._replace(number=missing.first(1)[0])
        raise ManifestError(f"{len(missing)} of {count} shards are missing, the first is {lacking}")
