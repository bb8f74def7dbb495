"""The manifest of a dataset: the file next to the shards that lists them and describes their records.

It commits a dataset: it is written after all shards, and removed before one of them changes.
"""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock import _core
from penstock.errors import ManifestError, SchemaError
from penstock.format_header import HEADER_KEYS, FormatHeader
from penstock.schema import Schema
from penstock.storage import FileStore, StrPath, locate, read_whole, split_path, write_whole
from penstock.storage.shard_names import ShardName

HEADER = FormatHeader("manifest", "penstock.manifest", 1)
SUFFIX = ".penstock.json"

# A million shards need less; a larger file is not a manifest.
_MAX_BYTES = 256 << 20

_FILE_KEYS = (*HEADER_KEYS, "schema", "shards")
_SHARD_KEYS = ("name", "records", "bytes", "crc32c", "appending")


@dataclass(frozen=True)
class Shard:
    """One file of a dataset."""

    name: str
    """The name of the file, in the manifest's folder."""
    records: int
    bytes: int
    """The size of the file."""
    crc32c: int
    """The checksum of the whole file."""
    is_appended: bool = False
    """Whether a writer is appending to the file, or was killed while it did; the numbers are from before that."""
    unknown: dict[str, Any] = field(default_factory=dict, repr=False)
    """Keys that a newer Penstock wrote; saved again."""


@dataclass(frozen=True)
class Finding:
    """A difference between a shard and its manifest."""

    kind: Literal["missing", "appended", "size", "checksum", "extra"]
    shard: str
    message: str

    def __str__(self) -> str:
        return f"{self.shard}: {self.message}"


@dataclass(frozen=True)
class Manifest:
    """What a dataset holds: its schema, and its shards with their records, sizes and checksums.

    Example:
        >>> manifest = ps.Manifest.load("train.penstock.json")
        >>> len(manifest.shards), manifest.records
        (4, 100)
        >>> manifest.verify(".")
        []
    """

    schema: Schema
    shards: tuple[Shard, ...]
    unknown: dict[str, Any] = field(default_factory=dict, repr=False)
    """Keys that a newer Penstock wrote; saved again."""

    @property
    def records(self) -> int:
        """Records in all shards.

        Example:
            >>> ps.Manifest.load("train.penstock.json").records
            100
        """
        return sum(shard.records for shard in self.shards)

    def __repr__(self) -> str:
        size = sum(shard.bytes for shard in self.shards)
        counts = [(self.records, "record"), (len(self.shards), "shard")]
        records, shards = (f"{n:,} {what}{'s' * (n != 1)}" for n, what in counts)
        return f"<Manifest of {records} in {shards}, {size:,} bytes: {', '.join(self.schema)}>"

    def to_json(self) -> str:
        """Return the text of a manifest file: JSON, as ``docs/write.md`` describes it.

        Example:
            >>> print(ps.Manifest.load("train.penstock.json").to_json())
            {
              "format": "penstock.manifest",
              ...
        """
        head = HEADER.to_json() | self.unknown
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        schema = self.schema.to_json().rstrip().replace("\n", "\n  ")
        shards = ",\n".join(f"    {json.dumps(_shard_to_json(shard))}" for shard in self.shards)
        lines += [f'  "schema": {schema}', f'  "shards": [\n{shards}\n  ]']
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Manifest:
        """Return the manifest that the text of a manifest file describes.

        Example:
            >>> with open("train.penstock.json") as file:
            ...     manifest = ps.Manifest.from_json(file.read())
            >>> list(manifest.schema)
            ['x', 'label', 'tokens']
        """
        try:
            document = json.loads(text)
        # The parser raises RecursionError for deep nesting, ValueError for bad UTF-8 and very long integers.
        except (ValueError, RecursionError) as error:
            raise ManifestError(f"not a manifest: it is not JSON ({type(error).__name__})") from None
        found = HEADER.check(document, ManifestError)
        try:
            schema = Schema.from_json(json.dumps(found.get("schema")))
        except SchemaError as error:
            raise ManifestError(f"the schema of the manifest: {error}") from None
        entries = found.get("shards")
        if not isinstance(entries, list):
            raise ManifestError('a manifest has "shards", which is an array')
        shards = tuple(map(_shard_from_json, entries))
        if len({shard.name for shard in shards}) != len(shards):
            raise ManifestError("two shards of the manifest have the same name")
        return cls(schema, shards, {key: value for key, value in found.items() if key not in _FILE_KEYS})

    def save(self, path: StrPath, *, sync: bool = False) -> None:
        """Write a manifest file atomically. With ``sync``, it is on the disk when this returns.

        Example:
            >>> manifest = ps.Manifest.load("train.penstock.json")
            >>> manifest.save("copy.penstock.json")
            >>> ps.Manifest.load("copy.penstock.json") == manifest
            True
        """
        write_whole(path, self.to_json().encode("ascii"), sync=sync)

    @classmethod
    def load(cls, path: StrPath) -> Manifest:
        """Read a manifest file.

        Example:
            >>> ps.Manifest.load("train.penstock.json").shards[0].name
            'train-00000-of-00004.tfrecord'
        """
        text = read_whole(path, _MAX_BYTES)
        if len(text) > _MAX_BYTES:
            raise ManifestError(f"{path}: not a manifest: larger than {_MAX_BYTES} bytes")
        try:
            return cls.from_json(text)
        except ManifestError as error:
            raise ManifestError(f"{path}: {error}") from None

    def verify(self, folder: StrPath, *, checksums: Mapping[str, int] | None = None) -> list[Finding]:
        """Compare the shards in a folder with the manifest: return what is missing, changed or extra.

        Args:
            folder: Where the shards are.
            checksums: The CRC32C of shards, by name; these are not read.

        Example:
            >>> import os
            >>> os.remove("train-00003-of-00004.tfrecord")
            >>> for finding in ps.Manifest.load("train.penstock.json").verify("."):
            ...     print(finding)
            train-00003-of-00004.tfrecord: is missing; it holds 25 records
        """
        store, path = locate(folder)
        path = path.rstrip("/") or path
        known = checksums or {}
        findings = [
            finding
            for shard in self.shards
            for finding in _check(store, f"{path}/{shard.name}", shard, known.get(shard.name))
        ]
        return findings + list(self._extras(store, path))

    def _extras(self, store: FileStore, path: str) -> Iterator[Finding]:
        """Yield shards of the same dataset that are not listed: reading by a pattern would include them."""
        known = {shard.name for shard in self.shards}
        datasets = {found.dataset for shard in self.shards if (found := ShardName.parse(shard.name))}
        for entry in store.list(f"{glob.escape(path)}/*"):
            _, name = split_path(entry)
            found = ShardName.parse(name)
            if found and found.dataset in datasets and name not in known and not name.startswith("."):
                yield Finding("extra", name, "is not in the manifest, but has the name of a shard")


def _check(store: FileStore, path: str, shard: Shard, crc: int | None) -> Iterator[Finding]:
    try:
        size = store.stat(path).size
    except FileNotFoundError:
        yield Finding("missing", shard.name, f"is missing; it holds {shard.records} records")
        return
    if shard.is_appended:
        message = f"a writer is appending to it, or was killed while it did: {shard.bytes} bytes before, {size} now"
        yield Finding("appended", shard.name, message)
        return
    if size != shard.bytes:
        yield Finding("size", shard.name, f"expected {shard.bytes} bytes, found {size}")
        return
    if crc is None:
        crc = 0
        for piece in store.stream(path):
            crc = _core.crc32c(piece, crc)
    if crc != shard.crc32c:
        yield Finding("checksum", shard.name, f"expected checksum {shard.crc32c:08x}, found {crc:08x}")


def _shard_to_json(shard: Shard) -> dict[str, Any]:
    known = {"name": shard.name, "records": shard.records, "bytes": shard.bytes, "crc32c": f"{shard.crc32c:08x}"}
    return known | ({"appending": True} if shard.is_appended else {}) | shard.unknown


def _shard_from_json(entry: object) -> Shard:
    if not isinstance(entry, dict):
        raise ManifestError("a shard of a manifest is an object in JSON")
    crc = entry.get("crc32c")
    if not isinstance(crc, str) or not re.fullmatch("[0-9a-f]{8}", crc):
        raise ManifestError('the "crc32c" of a shard is a string of 8 hexadecimal digits')
    return Shard(
        _check_name(entry.get("name")),
        _check_count(entry, "records"),
        _check_count(entry, "bytes"),
        int(crc, 16),
        _check_flag(entry, "appending"),
        {key: value for key, value in entry.items() if key not in _SHARD_KEYS},
    )


def _check_name(name: object) -> str:
    """Return the name of a shard; raise if it leads out of the folder on any system."""
    bad: Sequence[str] = ("/", "\\", ":", "\0")
    if not isinstance(name, str) or not name or name in (".", "..") or any(part in name for part in bad):
        raise ManifestError(f"the name of a shard is that of a file in the manifest's folder, found {str(name)[:80]!r}")
    return name


def _check_count(entry: dict[str, Any], key: str) -> int:
    value = entry.get(key)
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ManifestError(f'the "{key}" of a shard is an integer of 0 or more')
    return value


def _check_flag(entry: dict[str, Any], key: str) -> bool:
    value = entry.get(key, False)
    if type(value) is not bool:
        raise ManifestError(f'the "{key}" of a shard is true or false')
    return value
