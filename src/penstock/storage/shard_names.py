"""Names of shards and extensions of TFRecord files: the only module with patterns for them.

Penstock writes ``train-00000-of-00008.tfrecord.gz``. TFDS writes ``mnist-train.tfrecord-00000-of-00001``, which is read
too, as are the extensions ``.tfrecords``, ``.tfrec`` and ``.record``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from penstock.compression.detect import EXTENSIONS, Compression
from penstock.storage.paths import split_path

_RECORDS = r"\.(?:tfrecords?|tfrec|record)"
_COMPRESSED = "(?:" + "|".join(re.escape(known) for kind in EXTENSIONS.values() for known in kind) + ")"
_NUMBER = r"-\d+-of-\d+"
_EXTENSION = re.compile(rf"(?:{_RECORDS})?(?:{_COMPRESSED})?$")
_RECORD_FILE = re.compile(rf"{_RECORDS}(?:{_NUMBER})?(?:{_COMPRESSED})?$")
_AFTER_DATASET = re.compile(rf"({_NUMBER})?(?:{_RECORDS})?({_NUMBER})?(?:{_COMPRESSED})?$")
# As many digits as writers use: a larger number cannot be a count of shards.
_SHARD = re.compile(
    r"(?P<dataset>.+)-(?P<number>\d{5,9})-of-(?P<shards>\d{5,9})(?P<suffix>\..*)?", re.DOTALL | re.ASCII
)


class ShardName(NamedTuple):
    """The parts of a file name with the number of a shard and of all shards."""

    dataset: str
    """The part before the number."""
    number: int
    shards: int
    suffix: str
    """The part after the number of shards."""

    def __str__(self) -> str:
        return f"{self.dataset}-{self.number:05d}-of-{self.shards:05d}{self.suffix}"

    @property
    def is_written(self) -> bool:
        """Whether Penstock writes shards with this suffix."""
        return self.suffix in _WRITTEN

    @classmethod
    def parse(cls, name: str) -> ShardName | None:
        """Return the parts of a name, which has no folder; None if it has no number."""
        found = _SHARD.fullmatch(name)
        return found and cls(found["dataset"], int(found["number"]), int(found["shards"]), found["suffix"] or "")


def written_suffix(compression: Compression) -> str:
    """Return the extension of the files that Penstock writes."""
    return f".tfrecord{EXTENSIONS[compression][0] if compression else ''}"


_WRITTEN = frozenset(written_suffix(compression) for compression in ("", *EXTENSIONS))


def has_record_extension(path: str) -> bool:
    """Return whether a file is a TFRecord file by its name."""
    return _RECORD_FILE.search(path) is not None


def without_extension(path: str) -> str:
    """Return a path without the extensions of TFRecord files and of compression."""
    return _EXTENSION.sub("", path)


def dataset_of(file: str) -> str:
    """Return the dataset that a file belongs to: ``data/train`` for ``data/train-00000-of-00008.tfrecord``."""
    folder, name = split_path(file)
    return folder + _AFTER_DATASET.sub("", name)


def shard_number(file: str) -> tuple[int, int] | None:
    """Return the number and the count in a file's name: (0, 8) for ``train-00000-of-00008.tfrecord``."""
    found = _AFTER_DATASET.search(split_path(file)[1])
    number = found and (found[1] or found[2])
    if not number:
        return None
    _, shard, _, shards = number.split("-")
    return int(shard), int(shards)


@dataclass(frozen=True)
class MissingShards:
    """Shards of one dataset that are missing, by the count in the names of the others."""

    pattern: str
    """The path of the shards, with ``*`` for the number."""
    count: int
    """How many shards there should be."""
    present: frozenset[int]

    def __len__(self) -> int:
        return self.count - len(self.present)

    def __iter__(self) -> Iterator[int]:
        """Iterate the missing numbers in order. Names may claim very many, so take only a few."""
        return (number for number in range(self.count) if number not in self.present)

    def first(self, most: int) -> list[int]:
        """Return the first missing numbers."""
        return list(islice(self, most))


def missing_shards(files: Iterable[str]) -> list[MissingShards]:
    """Return what is missing of each dataset by the names of its shards, in the order of the first ones."""
    present: dict[tuple[str, str, int, str], set[int]] = {}
    for file in files:
        folder, name = split_path(file)
        if (shard := ShardName.parse(name)) and shard.number < shard.shards:
            present.setdefault((folder, shard.dataset, shard.shards, shard.suffix), set()).add(shard.number)
    found = [
        MissingShards(f"{folder}{dataset}-*-of-{count:05d}{suffix}", count, frozenset(numbers))
        for (folder, dataset, count, suffix), numbers in present.items()
    ]
    return [missing for missing in found if len(missing)]
