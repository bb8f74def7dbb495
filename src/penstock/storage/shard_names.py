"""Finds what describes data files: the manifest or schema that lies beside them."""

from __future__ import annotations

import re

from penstock.storage import split_path

# Behind the name of a dataset: "train-00000-of-00008.tfrecord.gz" is of "train".
_SHARD = re.compile(r"(-\d+-of-\d+)?(\.tfrecords?|\.tfrec|\.record)?(-\d+-of-\d+)?(\.(?:gz|zlib|zz|snappy))?$")


def dataset_of(file: str) -> str:
    """Return what the dataset is called that a file is a shard of, with its folder."""
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
