"""Separate the datasets of a folder by the names of their files, and choose one of them.

Shards with a number name their dataset: ``train-00000-of-00008.tfrecord`` belongs to ``train``, and TFDS's
``mnist-train.tfrecord-00000-of-00001`` to ``mnist-train``. Other files are one dataset, unless words such as ``train``
and ``test``, in their names or in those of their folders, show several splits.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from typing import NamedTuple

from penstock.errors import ManifestError
from penstock.storage import path_parts
from penstock.storage.shard_names import dataset_of, shard_number

_EDGE = r"[-_./ ]"
_SPLITS = "train|training|val|valid|validation|dev|test|testing|eval|evaluation|holdout"
_WORD = re.compile(rf"(?:^|(?<={_EDGE}))({_SPLITS})(?=\d*(?:{_EDGE}|$))", re.IGNORECASE)
_NUMBERS = re.compile(r"([-_. ]?\d+)+$")
_MOST_NAMES = 12


class _Named(NamedTuple):
    """What the name of a file shows about its dataset."""

    name: str
    numbered: bool
    words: tuple[str, ...]
    """The words in it that name a split."""


def single_dataset(folder: str, files: list[str]) -> list[str]:
    """Return the files of a folder where they are one dataset.

    Raises:
        ManifestError: They are several; the message lists them.
    """
    named = [_look(file, folder) for file in files]
    names = {found.name for found in named}
    splits = {found.words for found in named if found.words}
    if len(splits) > 1 or (len(names) > 1 and any(found.numbered for found in named)):
        raise several_datasets(folder, names)
    return files


def files_of_split(folder: str, files: list[str], split: str) -> list[str]:
    """Return the files of the dataset with this name, or of the only one whose name has it as a part.

    Raises:
        FileNotFoundError: There is none.
        ManifestError: There are several.
    """
    names = {file: _look(file, folder).name for file in files}
    chosen = match_split(folder, names.values(), split)
    if chosen is None:
        raise FileNotFoundError(errno.ENOENT, f"No dataset {split!r}; found {_listed(names.values())}", folder)
    return [file for file, name in names.items() if name == chosen]


def match_split(folder: str, names: Iterable[str], split: str) -> str | None:
    """Return the name that ``split`` chooses: ``train`` chooses itself, or ``mnist-train`` if no other name has it."""
    known = set(names)
    if split in known:
        return split
    part = re.compile(rf"(?:^|{_EDGE}){re.escape(split)}\d*(?:{_EDGE}|$)")
    found = [name for name in known if part.search(name)]
    if len(found) > 1:
        raise several_datasets(folder, found, split)
    return found[0] if found else None


def several_datasets(folder: str, names: Iterable[str], split: str | None = None) -> ManifestError:
    """Return the error for a folder with several datasets, of which the caller must choose one."""
    known = set(names)
    which = "" if split is None else f" with {split!r} in their names"
    return ManifestError(
        f"{folder} holds several datasets{which}: name one of them ({_listed(known)}), as in "
        f"split={min(known)!r}, or open several by a pattern or a list of files"
    )


def _listed(names: Iterable[str]) -> str:
    known = sorted(set(names))
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    return ", ".join(known[:_MOST_NAMES]) + more


def _look(file: str, folder: str) -> _Named:
    below = path_parts(file)[len(path_parts(folder)) :]
    numbered = shard_number(below[-1]) is not None
    *folders, stem = [*below[:-1], dataset_of(below[-1])]
    spoken = [part for part in folders if _WORD.search(part)]
    words = tuple(word.lower() for part in (*folders, stem) for word in _WORD.findall(part))
    if numbered or not words:
        return _Named("/".join([*spoken, stem]), numbered, words)
    ending = [_NUMBERS.sub("", stem)] if _WORD.search(stem) else []
    return _Named("/".join([*spoken, *ending]), False, words)
