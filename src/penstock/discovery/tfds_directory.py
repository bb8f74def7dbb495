"""A dataset that TFDS wrote: one folder with ``dataset_info.json``, ``features.json``, class names and shards.

The metadata is input that nobody checked: counts, names and paths are bounded, and no path leaves the folder.
"""

from __future__ import annotations

import errno
import glob
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from penstock.discovery.sidecars import LABELS, is_file, label_names
from penstock.discovery.split_slices import Split, parse_split
from penstock.errors import ManifestError
from penstock.storage import StrPath, is_folder, locate, path_text, read_whole, split_path
from penstock.storage.shard_names import has_record_extension

INFO_FILE = "dataset_info.json"
FEATURES_FILE = "features.json"
FILE_FORMATS = ("tfrecord", "array_record")
"""Those that can be read, the first one rather."""
_DEFAULT_TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)
_NAME = re.compile(r"[\w.+-]{1,255}")

_MAX_BYTES = 64 << 20
_MAX_SPLITS = 10_000
_MAX_SHARDS = 1_000_000
_MAX_ROWS = 1 << 48
_MOST_NAMES = 12

RowsOfFile: TypeAlias = tuple[int, int | None]
"""The first row to read of a file, and the row after the last one; None is the end of the file."""


@dataclass(frozen=True)
class TfdsSplit:
    """One split of a dataset."""

    name: str
    files: tuple[str, ...]
    """The paths of its shards, in order."""
    lengths: tuple[int, ...] | None
    """The number of rows of each shard; None where the metadata is from before TFDS counted them."""


@dataclass(frozen=True)
class ShardRows:
    """The rows to read of one shard."""

    file: str
    count: int | None
    """The number of rows of the whole shard, if known."""
    rows: RowsOfFile = (0, None)
    file_format: str = "tfrecord"


@dataclass(frozen=True)
class TfdsDirectory:
    """The metadata of one version of a dataset."""

    path: str
    """The folder, with a separator at its end."""
    name: str
    config: str
    version: str
    file_format: str
    splits: Mapping[str, TfdsSplit]
    info: Mapping[str, Any]
    """The content of ``dataset_info.json``."""

    @cached_property
    def features(self) -> str | None:
        """The path of ``features.json``, if there is one."""
        path = self.path + FEATURES_FILE
        return path if is_file(path) else None

    @classmethod
    def load(cls, folder: StrPath) -> TfdsDirectory:
        """Read the metadata in a folder.

        Raises:
            ManifestError: It is damaged, or of a file format that Penstock does not read.
        """
        path = _with_separator(path_text(folder))
        try:
            return _parse(path, _load_json(path + INFO_FILE))
        except ManifestError as error:
            raise ManifestError(f"{path}{INFO_FILE}: {error}") from None

    def rows(self, split: Split | str | None) -> list[ShardRows]:
        """Return which rows of which shards a split stands for, in order; None stands for the only split.

        Raises:
            ManifestError: Several splits, and none is named; or rows are to be counted, and the metadata cannot.
            ValueError: There is no such split, or it has fewer rows, or none.
            FileNotFoundError: A shard is missing.
        """
        if split is None:
            if len(self.splits) != 1:
                names = ", ".join(map(repr, self.splits)) or "none"
                raise ManifestError(
                    f'{self.path} has the splits {names}: name one of them, as in split="{next(iter(self.splits), "")}"'
                    ', or read all of them with split="all"'
                )
            split = next(iter(self.splits))
        if isinstance(split, str) and split in self.splits:
            found = self.splits[split]
            counts: Sequence[int | None] = found.lengths or [None] * len(found.files)
            rows = [ShardRows(file, count) for file, count in zip(found.files, counts, strict=True) if count != 0]
        else:
            rows = self._sliced(parse_split(split))
        if not rows:
            raise ValueError(f"{self.path}: the split {split} has no rows")
        _check_present({row.file for row in rows})
        return [replace(row, file_format=self.file_format) for row in rows]

    def _sliced(self, split: Split) -> list[ShardRows]:
        lengths = {name: found.lengths for name, found in self.splits.items() if found.lengths is not None}
        if len(lengths) < len(self.splits):
            raise ManifestError(
                f"{self.path}{INFO_FILE} has no shard lengths: name a whole split, and slice the dataset"
            )
        rows: list[ShardRows] = []
        for name, start, stop in split.ranges(lengths):
            first = 0
            for file, count in zip(self.splits[name].files, lengths[name], strict=True):
                begin, end = max(start - first, 0), min(stop - first, count)
                if begin < end:
                    rows.append(ShardRows(file, count, (begin, None if end == count else end)))
                first += count
        return rows

    def label_names(self) -> dict[str, list[str]]:
        """Return the class names that the folder has, by the name of the feature with ``-`` between levels."""
        store, folder = locate(self.path)
        files = store.list(f"{glob.escape(folder)}*{LABELS}")
        return {split_path(file)[1].removesuffix(LABELS): label_names(file) for file in files}


def find_tfds(path: str) -> str | None:
    """Return the folder of the dataset that a path stands for: itself, or the newest version below it.

    Raises:
        ManifestError: Several configs are below it.
    """
    store, name = locate(path)
    if has_record_extension(name) or not is_folder(store, name):
        return None
    folder = _with_separator(name)
    if is_file(folder + INFO_FILE):
        return folder
    below: list[str] = []
    for depth in ("*/", "*/*/"):
        with suppress(OSError):
            below += [split_path(file)[0] for file in store.list(f"{glob.escape(folder)}{depth}{INFO_FILE}")]
    versions = {found: number for found in below if (number := _version_of(found))}
    configs = sorted({_above(found) for found in versions})
    if len(configs) > 1 and (default := _default_config(folder)) in configs:
        configs = [default]
    if len(configs) > 1:
        names = [config[len(folder) :].rstrip("/\\") or "." for config in configs]
        raise ManifestError(
            f"{path} holds several datasets or configs: open one of them, as in {configs[0]} "
            f"({', '.join(names[:_MOST_NAMES])}{', ...' if len(names) > _MOST_NAMES else ''})"
        )
    of_config = {found: number for found, number in versions.items() if _above(found) in configs}
    return max(of_config, key=lambda found: of_config[found], default=None)


def _version_of(folder: str) -> tuple[int, ...] | None:
    found = _VERSION.fullmatch(split_path(folder[:-1])[1])
    return found and tuple(map(int, found.groups()))


def _above(folder: str) -> str:
    return split_path(folder[:-1])[0]


def _default_config(folder: str) -> str | None:
    """Return the folder of the config that TFDS opens by default, if it wrote which one that is."""
    path = f"{folder}.config/metadata.json"
    try:
        name = _load_json(path).get("default_config_name")
    except (OSError, ManifestError):
        return None
    return f"{folder}{name}/" if isinstance(name, str) and _NAME.fullmatch(name) else None


def _with_separator(path: str) -> str:
    return path if path.endswith(("/", "\\")) or not path else f"{path}/"


def _read_text(path: str) -> str:
    data = read_whole(path, _MAX_BYTES)
    if len(data) > _MAX_BYTES:
        raise ManifestError(f"larger than {_MAX_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ManifestError("not text in UTF-8") from None


def _load_json(path: str) -> dict[str, Any]:
    try:
        document = json.loads(_read_text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ManifestError):
            raise
        raise ManifestError(f"not JSON ({type(error).__name__})") from None
    if not isinstance(document, dict):
        raise ManifestError(f"expected an object, found {type(document).__name__}")
    return document


def _parse(path: str, info: dict[str, Any]) -> TfdsDirectory:
    name, config, version, file_format = (
        _text(info.get(key, ""), key) for key in ("name", "configName", "version", "fileFormat")
    )
    file_format = file_format.lower() or "tfrecord"
    others = info.get("alternativeFileFormats")
    formats = (file_format, *(others if isinstance(others, list) else ()))
    readable = [known for known in FILE_FORMATS if known in formats]
    if not readable:
        names = " and ".join(FILE_FORMATS)
        raise ManifestError(f"the files are of the format {file_format[:40]!r}, and Penstock reads {names}")
    file_format = readable[0]
    entries = info.get("splits", [])
    if not isinstance(entries, list) or len(entries) > _MAX_SPLITS:
        raise ManifestError('"splits" is no array of splits')
    splits: dict[str, TfdsSplit] = {}
    for entry in entries:
        room = _MAX_SHARDS - sum(len(split.files) for split in splits.values())
        split = _parse_split(path, name, file_format, entry, room)
        if split.name in splits:
            raise ManifestError(f"two splits have the name {split.name!r}")
        splits[split.name] = split
    return TfdsDirectory(path, name, config, version, file_format, splits, info)


def _parse_split(path: str, dataset: str, file_format: str, entry: Any, room: int) -> TfdsSplit:
    if not isinstance(entry, dict):
        raise ManifestError(f"a split is an object, not {type(entry).__name__}")
    name = _text(entry.get("name"), "name")
    if not name or not _NAME.fullmatch(name):
        raise ManifestError(f"not the name of a split: {name[:80]!r}")
    given = entry.get("shardLengths")
    if given is not None and not isinstance(given, list):
        raise ManifestError('"shardLengths" is no array')
    lengths = None if given is None else tuple(_integer(value, "shardLengths", _MAX_ROWS) for value in given)
    shards = _integer(entry.get("numShards", 0), "numShards", _MAX_SHARDS) if lengths is None else len(lengths)
    if shards > room or sum(lengths or ()) > _MAX_ROWS:
        raise ManifestError(f"more than {_MAX_SHARDS:,} shards, or {_MAX_ROWS:,} rows of the split {name!r}")
    template = _text(entry.get("filepathTemplate", ""), "filepathTemplate") or _DEFAULT_TEMPLATE
    digits = max(5, len(str(shards)))
    known = {"DATASET": dataset, "SPLIT": name, "FILEFORMAT": file_format, "NUM_SHARDS": f"{shards:0{digits}}"}
    files = []
    for shard in range(shards):
        index = f"{shard:0{digits}}"
        variables = known | {"SHARD_INDEX": index, "SHARD_X_OF_Y": f"{index}-of-{known['NUM_SHARDS']}"}
        files.append(path + _fill(template, variables))
    if len(set(files)) < len(files):
        raise ManifestError(f"the template {template[:80]!r} gives all shards one name")
    return TfdsSplit(name, tuple(files), lengths)


def _fill(template: str, variables: Mapping[str, str]) -> str:
    """Return the path of a shard in its folder."""

    def value(variable: re.Match[str]) -> str:
        if variable[1] not in variables:
            raise ManifestError(f"the template has an unknown variable {variable[1][:80]!r}")
        return variables[variable[1]]

    path = re.sub(r"\{([^{}]*)\}", value, template)
    parts = re.split(r"[/\\]", path)
    if len(path) > 4096 or any(part in ("", ".", "..") or ":" in part or "\0" in part for part in parts):
        raise ManifestError(f"a shard is not a file in the folder of the dataset: {path[:80]!r}")
    return path


def _check_present(files: Iterable[str]) -> None:
    """Raise if a shard is missing; each folder is listed once."""
    wanted: dict[str, set[str]] = {}
    for file in files:
        folder, name = split_path(file)
        wanted.setdefault(folder, set()).add(name)
    for folder, names in wanted.items():
        store, listed = locate(folder)
        missing = sorted(names - {split_path(file)[1] for file in store.list(f"{glob.escape(listed)}*")})
        if missing:
            raise FileNotFoundError(
                errno.ENOENT,
                f"{len(missing)} of {len(names)} shards are missing: copy the whole dataset, or open the files that "
                "exist by a pattern",
                folder + missing[0],
            )


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or len(value) > 4096:
        raise ManifestError(f'"{key}" is no text')
    return value


def _integer(value: Any, key: str, most: int) -> int:
    # Protobuf writes int64 as strings.
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ManifestError(f'"{key}" holds no count: {str(value)[:40]!r}')
    return value
