"""Tells files apart that hold records of different kinds, such as those of several data sets in one directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from penstock.beside import data_set_of, find_beside, load_schema
from penstock.cli.described import OncePipe
from penstock.cli.output import plural, printable
from penstock.errors import PenstockError
from penstock.reader import RecordReader
from penstock.schema import Schema
from penstock.schema.inference.record_features import read_features

Keys: TypeAlias = frozenset[tuple[str, str]]
"""The features of a record: whether in its context or its sequence, and by which name."""


def group_alike(readers: Sequence[RecordReader]) -> list[list[RecordReader]]:
    """Put files together whose records have most of their features in common, in the order of the first ones.

    Shards of one data set are alike: of each data set, one file is looked at.
    """
    data_sets: dict[str, list[RecordReader]] = {}
    for reader in readers:
        data_sets.setdefault(data_set_of(reader.path), []).append(reader)
    if len(data_sets) == 1:
        return [list(readers)]
    groups: list[tuple[Keys | None, list[RecordReader]]] = []
    for shards in data_sets.values():
        keys = _keys(shards[0])
        for known, group in groups:
            if _are_alike(keys, known):
                group += shards
                break
        else:
            groups.append((keys, shards))
    return [group for _, group in groups]


def title_of(group: Sequence[RecordReader]) -> str:
    """Name a group by its first file."""
    more = f" and {plural(len(group) - 1, 'more file')}" if len(group) > 1 else ""
    return f"{printable(group[0].path)}{more}"


def _are_alike(one: Keys | None, other: Keys | None) -> bool:
    if one is None or other is None:
        return False
    return not one or 2 * len(one & other) >= len(one | other)


def _keys(reader: RecordReader) -> Keys | None:
    """The features of a file, by its schema or its first record; none of an empty one, None where it is unreadable."""
    try:
        beside = find_beside(reader.path)
        if beside is not None:
            return _keys_of_schema(load_schema(beside))
        first = next(iter(reader), None) if not isinstance(reader, OncePipe) else None
        if first is None and reader.damage:
            return None
        return frozenset((found.section, found.key) for found in read_features(first or b""))
    except (PenstockError, OSError):
        return None  # what is wrong is told by whoever reads the file for what it holds


def _keys_of_schema(schema: Schema) -> Keys:
    sections = {"context": schema.context, "sequence": schema.sequence}
    return frozenset(
        (section, key)
        for section, features in sections.items()
        for name, feature in features.items()
        for key in (feature.key or name, *feature.partitions)
    )
