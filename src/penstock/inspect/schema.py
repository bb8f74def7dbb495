"""Find the schema of some files, and which of them have features in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.discovery.infer import infer_from
from penstock.discovery.sidecars import find_sidecar, load_schema
from penstock.errors import PenstockError
from penstock.inspect.open_readers import PipeReader
from penstock.integrity.report import plural
from penstock.records.reader import RecordReader
from penstock.schema import Schema
from penstock.schema.inference import Inferred
from penstock.schema.observed_features import read_features
from penstock.storage import StrPath, path_text
from penstock.storage.shard_names import dataset_of


@dataclass(frozen=True)
class DescribedSchema:
    """A schema, and where it comes from."""

    schema: Schema
    origin: str
    inferred: Inferred | None = None
    """What the records showed; None if the schema was read from a file."""


def named_schema(schema: Schema | StrPath) -> DescribedSchema:
    """Return the schema that the user passed, itself or as a file."""
    if isinstance(schema, Schema):
        return DescribedSchema(schema, "passed as schema=")
    return DescribedSchema(load_schema(path_text(schema)), f"read from {path_text(schema)}")


def find_schema(readers: Sequence[RecordReader], *, infer: bool = False, records: int | None = 1000) -> DescribedSchema:
    """Return the schema in the manifest or schema file that all files share, or infer it.

    Args:
        readers: The files.
        infer: Infer it in any case.
        records: Records to infer it from, spread over the files; None takes all.
    """
    if not infer and readers:
        sidecars = list(dict.fromkeys(find_sidecar(reader.path) for reader in readers))
        schemas = [load_schema(path) for path in sidecars if path is not None]
        if len(schemas) == len(sidecars) and all(schema == schemas[0] for schema in schemas):
            return DescribedSchema(schemas[0], f"read from {', '.join(map(str, sidecars))}")
    return infer_described(readers, records)


def infer_described(readers: Sequence[RecordReader], records: int | None) -> DescribedSchema:
    """Infer the schema from the records that can be read."""
    inferred = infer_from(readers, records=records, on_error="skip")
    if not inferred.records:
        return DescribedSchema(inferred.schema, "there are no records", inferred)
    share = "all " if inferred.complete else "the first " if len(inferred.files) <= 1 else "a sample of "
    count = plural(inferred.records, "record")
    if inferred.complete and inferred.skipped:
        share, count = "", plural(inferred.records, "sound record")
    files = "" if len(inferred.files) <= 1 else f" of {plural(len(inferred.files), 'file')}"
    return DescribedSchema(inferred.schema, f"inferred from {share}{count}{files}", inferred)


FeatureKeys: TypeAlias = frozenset[tuple[str, str]]
"""The features of a record: the section, context or sequence, and the key of each."""


def group_alike(readers: Sequence[RecordReader]) -> list[list[RecordReader]]:
    """Group files whose records have most of their features in common, in the order of the first ones.

    Shards of one dataset belong together: one file of each dataset is read.
    """
    datasets: dict[str, list[RecordReader]] = {}
    for reader in readers:
        datasets.setdefault(dataset_of(reader.path), []).append(reader)
    if len(datasets) <= 1:
        return [list(readers)] if readers else []
    groups: list[tuple[FeatureKeys | None, list[RecordReader]]] = []
    for shards in datasets.values():
        keys = _keys(shards[0])
        for known, group in groups:
            if _are_alike(keys, known):
                group += shards
                break
        else:
            groups.append((keys, shards))
    return [group for _, group in groups]


def _are_alike(one: FeatureKeys | None, other: FeatureKeys | None) -> bool:
    if one is None or other is None:
        return False
    return not one or 2 * len(one & other) >= len(one | other)


def _keys(reader: RecordReader) -> FeatureKeys | None:
    """Return the features of a file, by its schema or first record: none if it is empty, None if unreadable."""
    try:
        sidecar = find_sidecar(reader.path)
        if sidecar is not None:
            return _keys_of_schema(load_schema(sidecar))
        first = next(iter(reader), None) if not isinstance(reader, PipeReader) else None
        if first is None and reader.damage:
            return None
        return frozenset((found.section, found.key) for found in read_features(first or b""))
    except (PenstockError, OSError):
        return None  # reported when the file is read for its values


def _keys_of_schema(schema: Schema) -> FeatureKeys:
    sections = {"context": schema.context, "sequence": schema.sequence}
    return frozenset(
        (section, key)
        for section, features in sections.items()
        for name, feature in features.items()
        for key in (feature.key or name, *feature.partitions)
    )
